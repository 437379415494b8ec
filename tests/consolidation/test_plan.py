"""A plan's steps are chosen by id, id prefix or kind, and its rehearsal is summarized in a sentence."""

from __future__ import annotations

import pytest

from engram.domain.consolidation.plan import (
    ARCHIVE,
    KINDS,
    MERGE,
    Rehearsal,
    Step,
    check_kinds,
    choose,
    counts,
)
from engram.domain.errors import AmbiguousError, NotFoundError, UsageError

STEPS = tuple(
    Step(name, kind, (name,), (), (), name, "why", 0, 0, confirm=asks, selected=not asks)
    for name, kind, asks in (("ab1", MERGE, False), ("ab2", ARCHIVE, False), ("cd3", ARCHIVE, True))
)


def chosen(skip: tuple[str, ...] = (), confirm: tuple[str, ...] = ()) -> list[str]:
    return [step.id for step in choose(STEPS, skip, confirm) if step.selected]


def test_steps_are_skipped_and_confirmed_by_id_prefix_or_kind_and_skipping_wins() -> None:
    assert chosen() == ["ab1", "ab2"]
    assert chosen(skip=(" AB1 ",)) == ["ab2"]
    assert chosen(skip=("archive",), confirm=("cd",)) == ["ab1"]
    assert chosen(confirm=("archive",)) == ["ab1", "ab2", "cd3"]


def test_an_unknown_or_ambiguous_name_of_a_step_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no step 'x'"):
        chosen(skip=("x",))
    with pytest.raises(NotFoundError):
        chosen(confirm=("",))
    with pytest.raises(AmbiguousError) as caught:
        chosen(skip=("ab",))
    assert [name for name, _ in caught.value.candidates] == ["ab1", "ab2"]


def test_kinds_are_counted_and_checked_in_one_order() -> None:
    assert list(counts(STEPS).items()) == [(MERGE, 1), (ARCHIVE, 2)]
    assert check_kinds(["archive", "merge"]) == (MERGE, ARCHIVE)
    assert check_kinds([]) == KINDS
    with pytest.raises(UsageError, match="'tidy' is not a kind"):
        check_kinds(["tidy"])


def test_a_rehearsal_summarizes_how_the_answers_change() -> None:
    assert Rehearsal().sentence == "no past queries to rehearse on"
    assert Rehearsal(4, unchanged=2, shorter=1, changed=1).sentence == (
        "rehearsed on 4 past queries: 0 lose a helpful answer, 2 stay as they are, 1 get shorter, 1 change"
    )
