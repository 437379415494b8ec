"""Prompts as developers write them to an agent, about entries of the development set: the set in `prompts_dev`, by real hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import retrieval_set
from scratch_store import ROOT

from reaching import events, hooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reaching.hooks import Outcome, Place

SET = os.path.join(ROOT, "benchmarks", "prompts_dev", "prompts.jsonl")


class Figures(NamedTuple):
    """What came of one kind of prompts: of those that an entry helps with, and of those that none does.

    `right` counts the prompts that got their entry whole, `shown` the entries that came with them, `shown_right` those of
    them that help; `came` the others with which anything came.
    """

    kind: str
    answerable: int
    right: int
    shown: int
    shown_right: int
    others: int
    came: int


def run(place: Place, together: int) -> list[Outcome]:
    """Put every prompt to a hook in a session of its own."""
    drawn = [
        events.prompt(row["kind"], row["q"], frozenset(row["relevant"]))
        for row in retrieval_set.read_lines(SET)
    ]
    return hooks.run(place, drawn, hooks.FRESH, together)


def figures(outcomes: Sequence[Outcome]) -> Iterator[Figures]:
    """Add up what came, by kind."""
    for kind in dict.fromkeys(one.event.kind for one in outcomes):
        of_kind = [one for one in outcomes if one.event.kind == kind]
        known = [one for one in of_kind if one.event.right]
        others = [one for one in of_kind if not one.event.right]
        yield Figures(
            kind, len(known), sum(one.reached for one in known), sum(len(one.seen.shown) for one in known),
            sum(len(one.seen.shown & one.event.right) for one in known),
            len(others), sum(bool(one.seen.characters) for one in others),
        )  # fmt: skip
