"""Properties of every merge of lore files: machine-written, hand-edited and damaged ones."""

from __future__ import annotations

import re
from collections import Counter

from codec_strategies import CATEGORIES
from hypothesis import assume, given, settings
from merge_kit import NOW, PATH, anything, foreign, merge, originals, quick, read, readable, triples

from engram.adapters.files.merge.merge_file import merge_files
from engram.adapters.files.merge.merge_readable import Merged
from engram.domain.entry.disputes import DELETED, FILE
from engram.domain.merge.merge import Edit

Triple = tuple[bytes, bytes, bytes]
Versions = tuple[bytes | None, bytes | None, bytes | None]
thorough = settings(quick, max_examples=2 * quick.max_examples)


# An indented frontmatter, a block that takes in the blank lines after it: then the winner's keys stay as they are.
HARD_TO_MIX = re.compile(rb"(?m)^ +(?:id|category|status|title|tags|created_at):|[|>]\+")


def everything(merged: Merged) -> list[str]:
    """All text that a merge leaves behind, in lines."""
    texts = []
    for raw in [merged.content or b"", *[kept.content for kept in merged.kept]]:
        file = readable(raw)
        texts.append(file.lore.content if file else raw.decode(errors="surrogateescape"))
        texts += [entry.value for entry in file.lore.conflicts] if file else []
    return [line for text in texts for line in re.split("\r\n|\r|\n", text)]


def texts_of(merged: Merged) -> list[str]:
    lore = read(merged.content or b"").lore
    return [lore.content, *[entry.value for entry in lore.conflicts]]


@thorough
@given(anything())
def test_it_does_not_matter_which_side_is_ours(versions: Versions) -> None:
    base, ours, theirs = versions
    one = merge_files(base, ours, theirs, PATH, CATEGORIES, NOW, (Edit("AAAAAAAA"), Edit("BBBBBBBB")))
    other = merge_files(base, theirs, ours, PATH, CATEGORIES, NOW, (Edit("BBBBBBBB"), Edit("AAAAAAAA")))
    assert one == other


@quick
@given(anything())
def test_a_change_of_one_side_alone_is_taken_byte_for_byte(versions: Versions) -> None:
    base, ours, theirs = versions
    assert merge(base, ours, ours) == Merged(ours)
    assert merge(base, base, theirs) == Merged(theirs)
    assert merge(base, ours, base) == Merged(ours)


@quick
@given(anything())
def test_a_merged_file_merged_again_stays_as_it_is(versions: Versions) -> None:
    base, ours, theirs = versions
    merged = merge(base, ours, theirs).content
    assert merge(merged, merged, merged).content == merged
    assert merge(ours, merged, ours).content == merged
    assert merge(base, merged, base).content == merged


@quick
@given(triples())
def test_two_readable_versions_give_a_readable_one_without_markers(triple: Triple) -> None:
    base, ours, theirs = triple
    assume(readable(ours) and readable(theirs))
    content = merge(base, ours, theirs).content
    assert content is not None
    read(content)
    assert not re.search(rb"(?m)^(<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|) ", content)


@quick
@given(triples())
def test_no_vote_of_format_1_is_lost_or_counted_twice(triple: Triple) -> None:
    base, ours, theirs = triple
    sides = [readable(ours), readable(theirs)]
    assume(all(sides))
    merged = merge(base, ours, theirs)
    assume(not merged.kept and base not in (ours, theirs))
    votes = read(merged.content or b"").lore.votes
    one, other = (side.lore.votes for side in sides if side)
    assert set(votes) <= set(one) | set(other)
    before = readable(base)
    for clone in (set(one) | set(other)) - set(votes):  # the side without any moved them to the ledger
        assert not (one and other)
        assert before is not None
        assert (one or other)[clone] == before.lore.votes[clone]
    for clone, vote in votes.items():
        found = [side[clone] for side in (one, other) if clone in side]
        assert vote == tuple(max(numbers) for numbers in zip(*found, strict=True))


@quick
@given(anything())
def test_every_line_that_a_side_wrote_is_still_somewhere(versions: Versions) -> None:
    base, ours, theirs = versions
    merged = merge(base, ours, theirs)
    assume(merged.content is not None)
    before = readable(base)
    old = Counter(before.lore.content.split("\n") if before else [])
    left = Counter(everything(merged))
    for raw in (ours, theirs):
        file = readable(raw)
        if raw is None or file is None:
            continue
        new = Counter(file.lore.content.split("\n")) - old
        assert set(new) <= set(left)


@quick
@given(anything())
def test_an_unreadable_version_is_kept_whole(versions: Versions) -> None:
    base, ours, theirs = versions
    assume(base not in (ours, theirs) and ours != theirs and None not in (ours, theirs))
    merged = merge(base, ours, theirs)
    file = readable(merged.content)
    for raw in (ours, theirs):
        if raw is not None and readable(raw) is None:
            entries = [entry.value for entry in file.lore.conflicts if entry.field == FILE] if file else []
            copies = [kept.content for kept in merged.kept]
            assert raw in copies or raw == merged.content or raw.decode() in entries
            assert not merged.clean


@quick
@given(triples())
def test_unknown_keys_stay_unless_a_side_removed_them(triple: Triple) -> None:
    base, ours, theirs = triple
    assume(readable(base) and readable(ours) and readable(theirs) and base not in (ours, theirs))
    merged = merge(base, ours, theirs)
    assume(not merged.kept)
    found, conflicts = foreign(merged.content or b""), read(merged.content or b"").lore.conflicts
    old, one, other = foreign(base), foreign(ours), foreign(theirs)
    lost = {entry.field for entry in conflicts}
    for key in old.keys() | one.keys() | other.keys():
        sides = {str(side.get(key)) for side in (one, other)} - {str(old.get(key))}
        if len(sides) < 2 and key not in lost and not any(map(HARD_TO_MIX.search, triple)):
            assert [str(found.get(key))] == (list(sides) or [str(old.get(key))])
        else:
            assert str(found.get(key)) in {str(side.get(key)) for side in (old, one, other)}


@quick
@given(originals, originals)
def test_two_files_added_at_one_path_are_both_there(ours: bytes, theirs: bytes) -> None:
    one, other = readable(ours), readable(theirs)
    assume(one and other and ours != theirs)
    assert one is not None
    assert other is not None
    merged = merge(None, ours, theirs)
    if one.adopted and other.adopted and one.lore.id != other.lore.id:
        assert {merged.content, *[kept.content for kept in merged.kept]} == {ours, theirs}
        assert read(merged.content or b"").lore.id == min(one.lore.id, other.lore.id)
    else:
        assert merged.kept or {one.lore.content, other.lore.content} <= set(texts_of(merged))


@quick
@given(triples())
def test_a_deletion_loses_against_an_edit_and_wins_against_votes(triple: Triple) -> None:
    base, ours, _ = triple
    before, after = readable(base), readable(ours)
    assume(before and after and ours != base)
    assert before is not None
    assert after is not None
    merged = merge(base, ours, None)
    assert merged == merge(base, None, ours)._replace(conflicts=merged.conflicts)
    if merged.content is None:
        assert before.lore.content == after.lore.content
        assert before.lore.tags == after.lore.tags
        assert merged.clean
    else:
        # Of a migrated file (its side has no votes) disputes are kept beside the entry.
        fields = [entry.field for entry in (*read(merged.content).lore.conflicts, *merged.conflicts)]
        assert DELETED in fields
