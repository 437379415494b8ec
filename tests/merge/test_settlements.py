"""Decisions on conflicts are neither lost nor silently overruled, in whatever order versions are merged.

Mutants that make no difference: `>=` where two settlements are compared that chose differently: they are never equal.
"""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from merge_history import CLONES, Clones
from merge_kit import BASE, CATEGORIES, LATER, LORE, SOON, both, merged, quick, read, with_changes

from engram.adapters.files.frontmatter import codec
from engram.domain.entry import times
from engram.domain.entry.lore import Conflict, Lore, Settlement
from engram.domain.merge.settlements import (
    KEPT,
    OTHER,
    Clash,
    conflict_key,
    latest,
    merge_settlements,
    open_conflicts,
)

HERS = "# Redelivery\n\nThe broker sends twice.\n\nConsumers must be idempotent."
HIS = "# Redelivery\n\nThe broker never sends again.\n\nConsumers must be idempotent."
DISPUTE = Conflict("content", HIS, "Bob", "2026-11-21T10:00:00Z", "Ann", "2026-11-21T11:00:00Z")
DISPUTED = with_changes(BASE, content=HERS, conflicts=(DISPUTE,), updated_at=SOON)


def settled(chose: str, by: str, hours: int = 2) -> dict[str, Any]:
    """What settling the dispute changes; `hours` after the entry was made."""
    moment = SOON + timedelta(hours=hours)
    item = Settlement(conflict_key(DISPUTE), chose, by, times.render(moment))
    text = {"content": HIS} if chose == OTHER else {}
    return {"conflicts": (), "settled": (item,), "updated_at": moment, **text}


def test_a_settlement_replaces_the_conflict_on_every_side() -> None:
    lore, done = both(settled(KEPT, "Ann"), {"tags": ("new",)}, DISPUTED)
    assert (lore.content, lore.conflicts, lore.tags, done.clean) == (HERS, (), ("new",), True)
    assert [one.by for one in lore.settled] == ["Ann"]


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_settlement_of_one_side_stands_whichever_side_wins(is_earlier: bool) -> None:
    other = {"tags": ("new",), "updated_at": LATER + timedelta(days=9 if is_earlier else 0)}
    lore, done = both(settled(KEPT, "Ann", 24), other, DISPUTED)
    assert (lore.conflicts, [one.by for one in lore.settled], done.clean) == ((), ["Ann"], True)


def test_each_settlement_is_merged_as_a_value_of_its_own() -> None:
    was, again, later = (
        Settlement("content:0", chose, "Ann", f"2026-01-0{day}") for day, chose in enumerate("abb", 1)
    )
    for base, one, other, merged_ in (
        ([], [was], [], [was]),
        ([was], [was], [], []),
        ([was], [was], [again], [again]),
        ([was], [again], [], [again]),
        ([was], [again], [later], [again]),
        ([was], [], [], []),
    ):
        assert merge_settlements(base, one, other) == (tuple(merged_), ())
        assert merge_settlements(base, other, one) == (tuple(merged_), ())
    assert merge_settlements([], [was], [again]) == ((), (Clash("content", was, again),))


def test_a_settlement_names_its_conflict_by_field_and_digest_as_the_format_says() -> None:
    digest = blake2b(HIS.encode(), digest_size=6).hexdigest()
    assert conflict_key(DISPUTE) == f"content:{digest}"
    assert len(digest) == 12


def test_two_equal_choices_agree_and_the_earlier_person_is_named() -> None:
    lore, done = both(settled(OTHER, "Ann", 3), settled(OTHER, "Bob", 2), DISPUTED)
    assert (lore.content, lore.conflicts, done.clean) == (HIS, (), True)
    assert [one.by for one in lore.settled] == ["Bob"]


@pytest.mark.parametrize(("kept", "taken", "stands", "left"), [(2, 3, HIS, HERS), (3, 2, HERS, HIS)])
def test_different_choices_reopen_the_conflict(kept: int, taken: int, stands: str, left: str) -> None:
    """Also where one kept what stood, which leaves the text as it was in the base."""
    lore, done = both(settled(KEPT, "Ann", kept), settled(OTHER, "Bob", taken), DISPUTED)
    (conflict,) = done.conflicts
    assert (lore.content, lore.conflicts, conflict.value) == (stands, (conflict,), left)
    names = ("Ann", "Bob") if kept < taken else ("Bob", "Ann")
    assert (conflict.source, conflict.kept_source) == names
    assert lore.settled == ()


def test_edits_elsewhere_in_the_text_survive_a_contested_settlement() -> None:
    changed = {**settled(KEPT, "Ann", 3), "content": f"{HERS}\n\nAn ack takes 30 s."}
    lore, _ = both(changed, settled(OTHER, "Bob"), DISPUTED)
    assert lore.content == f"{HERS}\n\nAn ack takes 30 s."
    assert [one.value for one in lore.conflicts] == [f"{HIS}\n\nAn ack takes 30 s."]


def test_removing_and_keeping_a_paragraph_reopen_the_conflict() -> None:
    shorter = HERS.replace("\n\nThe broker sends twice.", "")
    dispute = DISPUTE._replace(value=shorter)
    base = with_changes(DISPUTED, conflicts=(dispute,))
    sides = [
        {"conflicts": (), "settled": (Settlement(conflict_key(dispute), *chose),), "content": content}
        for chose, content in (
            ((KEPT, "Ann", "2026-11-23T10:00:00Z"), HERS),
            ((OTHER, "Bob", "2026-11-22T10:00:00Z"), shorter),
        )
    ]
    lore, done = both(*sides, base)
    assert (lore.content, [one.value for one in done.conflicts]) == (HERS, [shorter])


def test_removing_the_first_line_and_taking_the_other_version_reopen_the_conflict() -> None:
    hers, his, shorter = (f"{first}An ack takes 30 s." for first in ("Never.\n", "Twice.\n", ""))
    dispute = DISPUTE._replace(value=his)
    base = with_changes(DISPUTED, content=hers, conflicts=(dispute,))
    sides = [
        {"conflicts": (), "settled": (Settlement(conflict_key(dispute), *chose),), "content": content}
        for chose, content in (
            ((KEPT, "Ann", "2026-11-23T10:00:00Z"), shorter),
            ((OTHER, "Bob", "2026-11-22T10:00:00Z"), his),
        )
    ]
    lore, done = both(*sides, base)
    assert (lore.content, [one.value for one in done.conflicts]) == (shorter, [his])


def test_a_settlement_wins_over_the_conflict_that_another_way_of_merging_left() -> None:
    """The other side has the conflict by a cherry-pick, so the base knows nothing of it."""
    ours = with_changes(DISPUTED, **settled(KEPT, "Ann"))
    lore, done = merged(ours, DISPUTED)
    assert (lore.content, lore.conflicts, len(lore.settled), done.clean) == (HERS, (), 1, True)


def test_the_same_version_written_again_later_is_a_new_conflict() -> None:
    again = DISPUTE._replace(at=times.render(LATER + timedelta(days=2)))
    ours = with_changes(DISPUTED, **settled(KEPT, "Ann"))
    lore, _ = merged(ours, with_changes(DISPUTED, conflicts=(again,)))
    assert lore.conflicts == (again,)
    (item,) = settled(KEPT, "Ann")["settled"]
    assert open_conflicts([again._replace(at=item.at)], [item]) == ()


def test_different_settlements_of_a_field_reopen_the_conflict() -> None:
    dispute = Conflict("category", "PLAN", "Bob", "2026-11-21T10:00:00Z")
    base = with_changes(BASE, conflicts=(dispute,))
    items = [
        Settlement(conflict_key(dispute), chose, by, at)
        for chose, by, at in ((KEPT, "Ann", "2026-11-22T10:00:00Z"), (OTHER, "Bob", "2026-11-22T09:00:00Z"))
    ]
    one = {"conflicts": (), "settled": items[:1]}
    other = {"conflicts": (), "settled": items[1:], "category": "PLAN", "type": "working"}
    one["settled"], other["settled"] = tuple(items[:1]), tuple(items[1:])
    lore, done = both(one, other, base)
    assert (lore.category, [entry.value for entry in done.conflicts]) == ("FACT", ["PLAN"])


def test_an_entry_keeps_its_latest_settlements() -> None:
    items = [
        Settlement(f"content:{number:012}", KEPT, "Ann", f"2026-01-01T00:00:{number:02}Z")
        for number in range(50)
    ]
    assert latest(reversed(items)) == tuple(items[-32:])
    lore = LORE._replace(settled=latest(items))
    assert read(codec.write_new(lore, CATEGORIES)).lore == lore


def rewrite(number: int) -> Any:
    def edit(lore: Lore, clone: int) -> Lore:
        lines = lore.content.split("\n")
        lines[2] = f"{CLONES[clone]} says {number}"
        return lore._replace(content="\n".join(lines))

    return edit


def decide(chose: str) -> Any:
    """Settle all conflicts of the text, as `engram review` does."""

    def edit(lore: Lore, clone: int) -> Lore:
        texts = [one for one in lore.conflicts if one.field == "content"]
        if not texts or len(texts) != len(lore.conflicts):
            return lore
        at = max([times.render(lore.updated_at + timedelta(hours=1)), *[one.at for one in texts]])
        items = [Settlement(conflict_key(one), chose, CLONES[clone], at) for one in texts]
        content = texts[-1].value if chose == OTHER else lore.content
        return lore._replace(content=content, conflicts=(), settled=latest([*lore.settled, *items]))

    return edit


clones = st.integers(0, 2)
edits = st.tuples(
    st.just("edit"),
    clones,
    st.one_of(st.integers(0, 9).map(rewrite), st.sampled_from([decide(KEPT), decide(OTHER)])),
)
pulls = st.tuples(st.sampled_from(["pull", "cross"]), clones, clones)


@quick
@given(st.lists(st.one_of(edits, edits, pulls), max_size=16))
def test_all_clones_agree_and_nothing_settled_is_still_in_conflict(operations: list) -> None:
    found = Clones(codec.write_new(LORE, CATEGORIES))
    for kind, clone, what in operations:
        if kind == "edit":
            found.change(clone, what)
        elif clone != what:
            (found.pull if kind == "pull" else found.cross)(clone, what)
    found.settle()
    assert len(set(found.heads)) == 1
    lore = read(found.raw(0)).lore
    open_ones = {conflict_key(one): one.at for one in lore.conflicts}
    assert all(open_ones[item.of] > item.at for item in lore.settled if item.of in open_ones)


@quick
@given(st.permutations([KEPT, OTHER]), st.tuples(clones, clones).filter(lambda pair: pair[0] != pair[1]))
def test_a_disagreement_shows_in_whatever_order_three_clones_merge(
    choices: list[str], who: tuple[int, int]
) -> None:
    found = Clones(DISPUTED)
    for clone, chose in zip(who, choices, strict=True):
        found.change(clone, decide(chose))
    for order in permutations(range(3)):
        lore = read(found.graph.content[found.folded(order)]).lore
        assert {lore.content, *[one.value for one in lore.conflicts]} == {HERS, HIS}
        assert len(lore.conflicts) == 1
