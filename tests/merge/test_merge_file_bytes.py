"""Merging two versions of an entry's file: what surrounds the values, and whole files that are gone or broken."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from codec_kit import ID, OTHER
from merge_kit import (
    BASE,
    CATEGORIES,
    LATER,
    NOW,
    PATH,
    SOON,
    TEXT,
    foreign,
    judged,
    merge,
    merged,
    read,
    with_changes,
)

from engram.adapters.files.merge.merge_file import merge_files
from engram.adapters.files.merge.merge_readable import Merged
from engram.domain.entry.confidence import HELPFUL, Vote
from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.entry.lore import Conflict
from engram.domain.errors import LoreFileError
from engram.domain.merge.merge import Edit

# --- the file around the values


BY_HAND = b"""\xef\xbb\xbf---\r
# my notes\r
title: 'Deploy'   # unknown to Engram\r
id: %b\r
tags:   # topics\r
  - deploy\r
aliases:\r
  deep: {x: [1, 2]}\r
note: |\r
  two\r
  lines\r
---\r
Freeze the queue.\r
\r
Migrate.""" % ID.encode()


def test_unchanged_parts_are_not_reformatted() -> None:
    ours = BY_HAND.replace(b"Freeze", b"Stop").replace(b"'Deploy'", b"'Ship it'")
    theirs = BY_HAND.replace(b"  - deploy\r\n", b"  - deploy\r\n  - 'check'\r\n")
    theirs = theirs.replace(b"# my notes\r\n", b"# my notes\r\n# and yours\r\n")
    _, done = merged(ours, theirs, BY_HAND)
    wanted = theirs.replace(b"Freeze", b"Stop").replace(b"'Deploy'", b"'Ship it'")
    assert done == Merged(wanted, ("content", "tags", "title"))


def test_unknown_keys_are_merged_like_single_values() -> None:
    ours = BY_HAND.replace(b"'Deploy'", b"'Mine'").replace(b"[1, 2]", b"[1]")
    theirs = BY_HAND.replace(b"'Deploy'", b"'Yours'").replace(b"  two\r\n", b"").replace(b"Freeze", b"Stop")
    lore, done = merged(ours, theirs, BY_HAND)
    found = foreign(done.content or b"")
    assert {found["title"], lore.conflicts[0].value} == {"Mine", "Yours"}
    assert (found["aliases"], found["note"]) == ({"deep": {"x": ["1"]}}, "lines\n")
    assert lore.content.startswith("Stop")
    assert (b"\r\n" in (done.content or b""), b"\n" in (done.content or b"").replace(b"\r\n", b"")) == (
        True,
        False,
    )


@pytest.mark.parametrize("stamp", [SOON, LATER])
def test_line_ends_changed_by_one_side_are_the_result(stamp: datetime) -> None:
    ours = with_changes(BASE, updated_at=SOON + timedelta(minutes=1)).replace(b"\n", b"\r\n")
    theirs = with_changes(BASE, pinned=True, updated_at=stamp)
    lore, done = merged(ours, theirs)
    assert (lore.pinned, done.clean) == (True, True)
    assert (done.content or b"").replace(b"\r\n", b"").count(b"\n") == 0


def test_blank_lines_that_would_join_a_block_stay_out_of_it() -> None:
    base = with_changes(BASE, status="archived").replace(
        b"status: archived\n", b"title: |+\n  My\nstatus: archived\n\nnote: x\n"
    )
    ours = base.replace(b"status: archived\n\n", b"")
    theirs = with_changes(base, updated_at=LATER).replace(b"\n\nnote", b"\n\n\nnote")
    lore, done = merged(ours, theirs, base)
    assert (lore.status, foreign(done.content or b"")) == ("active", {"title": "My\n", "note": "x"})


def test_an_indented_frontmatter_and_a_plain_one_lose_nothing() -> None:
    base = BASE.replace(b"tags:", b"note: x\ntags:")
    head, body = base.split(b"\n---\n")
    indented = b"---\n" + b"".join(b"  " + line + b"\n" for line in head.split(b"\n")[1:])
    ours = indented.replace(b"note: x", b"note: mine") + b"---\n" + body
    lore, done = merged(ours, with_changes(base, tags=("new",), updated_at=LATER), base)
    assert (lore.tags, foreign(done.content or b"")) == (("new",), {"note": "x"})
    assert [(entry.field, entry.value) for entry in lore.conflicts] == [("note", "mine")]


def test_files_without_an_id_stay_without() -> None:
    base = b"---\ntags: [a] # topics\n---\n# Note\n\none\n\ntwo\n"
    ours, theirs = base.replace(b"one", b"1").replace(b"[a]", b"[a, b]"), base.replace(b"two", b"2")
    theirs = theirs.replace(b"[a]", b"[a, c]")
    wanted = base.replace(b"one", b"1").replace(b"two", b"2").replace(b"[a]", b"[a, b, c]")
    assert merged(ours, theirs, base)[1].content == wanted
    lost = merged(b"# Note\n\n1\n", b"# Note\n\n2\n", b"# Note\n\nx\n")[1]
    assert read(lost.content or b"").adopted is False
    assert [(entry.field, entry.at) for entry in lost.conflicts] == [("content", "")]


def test_a_file_that_two_clones_gave_an_id_at_once_keeps_the_older_one() -> None:
    base = b"# Note\n\none\n\ntwo\n"
    ours, theirs = (with_changes(base, id=found, pinned=True) for found in (OTHER, ID))
    lore, done = merged(ours, theirs.replace(b"two", b"2"), base)
    assert (lore.id, lore.content, done.clean) == (ID, "# Note\n\none\n\n2", True)
    assert "id" in done.fields


# --- whole files


def test_a_file_that_one_side_deleted_stays_deleted_if_the_other_only_voted() -> None:
    assert merge(BASE, judged(BASE, "AAAAAAAA", HELPFUL), None) == Merged(None, (DELETED,))
    assert merge(BASE, None, BASE) == Merged(None)


@pytest.mark.parametrize(
    "edited",
    [
        with_changes(BASE, tags=("queue",)),
        BASE.replace(b"category: FACT", b"category: FACT # sure?"),
        BASE.replace(b"category: FACT", b"note: mine\ncategory: FACT"),
    ],
    ids=["field", "comment", "unknown key"],
)
def test_an_edit_outlives_a_deletion(edited: bytes) -> None:
    done = merge_files(BASE, None, edited, PATH, CATEGORIES, NOW, (Edit("AAAAAAAA"), Edit("BBBBBBBB")))
    assert done.content is not None
    lore = read(done.content).lore
    assert done.conflicts == lore.conflicts == (Conflict(DELETED, "", "AAAAAAAA", "", "BBBBBBBB"),)
    assert lore._replace(conflicts=()) == read(edited).lore
    assert merge(BASE, None, done.content) == Merged(done.content, (DELETED,), contested=True)


def test_two_entries_added_at_one_path_are_both_kept() -> None:
    ours, theirs = BASE, with_changes(BASE, id=OTHER, content="Something else")
    done = merge(None, ours, theirs)
    assert done.content == ours
    assert [kept.content for kept in done.kept] == [theirs]
    assert done.kept[0].path > PATH
    assert done.kept[0].path.endswith(".md")


def test_one_entry_added_at_one_path_by_two_clones_is_merged() -> None:
    lore, done = merged(with_changes(BASE, tags=("a",)), with_changes(BASE, tags=("b",)), None)
    assert (lore.tags, done.clean) == (("a", "b"), True)


MARKERS = BASE.replace(b"The broker", b"<<<<<<< ours\r\nThe broker")


@pytest.mark.parametrize("broken", [MARKERS, b"---\nid: [\nx: y\n---\n\ntext\n", b"---\nid: x\n---\n"])
def test_an_unreadable_side_loses_and_its_text_is_kept(broken: bytes) -> None:
    readable = with_changes(BASE, pinned=True)
    lore, done = merged(readable, broken)
    assert lore._replace(conflicts=()) == read(readable).lore
    assert [(entry.field, entry.value.encode()) for entry in lore.conflicts] == [(FILE, broken)]
    assert b"\n<<<<<<<" not in (done.content or b"")


@pytest.mark.parametrize("broken", [b"\xff\xfe\x00", BASE + b"\0", BASE + b"x" * 256 * 1024])
def test_a_version_that_no_entry_can_hold_is_kept_next_to_it(broken: bytes) -> None:
    with pytest.raises(LoreFileError):
        read(broken)
    readable = with_changes(BASE, pinned=True)
    done = merged(readable, broken)[1]
    assert (done.content, [kept.content for kept in done.kept]) == (readable, [broken])


def test_of_two_unreadable_sides_both_are_kept() -> None:
    done = merge(BASE, b"\xff one", b"\xff two")
    assert {done.content, done.kept[0].content} == {b"\xff one", b"\xff two"}
    assert done == merge(BASE, b"\xff two", b"\xff one")


def test_lists_too_large_for_one_frontmatter_lose_nothing() -> None:
    long = tuple(f"{n:0150}" for n in range(60))
    ours = with_changes(judged(BASE, "AAAAAAAA", HELPFUL), files=long)
    lore, done = merged(ours, with_changes(BASE, entities=long, updated_at=LATER))
    assert (lore.files, lore.entities, lore.votes) == ((), long, {"AAAAAAAA": Vote(80, 0, 1)})
    assert [(entry.field, entry.value) for entry in done.conflicts] == [("files", "\n".join(long))]


def test_two_sides_that_no_file_can_hold_are_both_kept() -> None:
    entries = tuple(Conflict("content", f"{n:02}" * 2000, "", "") for n in range(50))
    ours = with_changes(BASE, conflicts=entries[:40])
    theirs = with_changes(
        BASE, conflicts=tuple(entry._replace(field="x") for entry in entries[:40]), updated_at=LATER
    )
    done = merged(ours, theirs)[1]
    assert (done.content, [kept.content for kept in done.kept]) == (theirs, [ours])


def test_a_thousand_files_edited_on_both_sides_take_under_four_seconds() -> None:
    triples = []
    for number in range(200):
        ours = judged(with_changes(BASE, tags=("queue", f"o{number}")), "AAAAAAAA", HELPFUL)
        theirs = judged(with_changes(BASE, content=TEXT + f" {number}"), "BBBBBBBB", HELPFUL)
        triples.append((BASE, ours, theirs))
    start = time.process_time()
    assert all(merge(*triple).clean for triple in triples)
    assert (time.process_time() - start) / len(triples) < 4 / 1000
