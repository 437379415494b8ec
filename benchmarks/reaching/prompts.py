"""Run the set in `prompts_dev` by real hooks: prompts as developers write them, about entries of the development set."""

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
    """Counts for a kind of prompt: prompts that an entry helps with (`answerable`), and `others`.

    `right`: answerable prompts that got their entry whole; `shown`: entries shown with answerable prompts, `shown_right`: those
    that help; `came`: other prompts with which anything was shown.
    """

    kind: str
    answerable: int
    right: int
    shown: int
    shown_right: int
    others: int
    came: int


def run(place: Place, parallel: int) -> list[Outcome]:
    """Run the hook for every prompt in a session of its own."""
    drawn = [
        events.prompt(row["kind"], row["q"], frozenset(row["relevant"]))
        for row in retrieval_set.read_lines(SET)
    ]
    return hooks.run(place, drawn, hooks.FRESH, parallel)


def figures(outcomes: Sequence[Outcome]) -> Iterator[Figures]:
    """Add up the outcomes by kind."""
    for kind in dict.fromkeys(one.event.kind for one in outcomes):
        of_kind = [one for one in outcomes if one.event.kind == kind]
        answerable = [one for one in of_kind if one.event.right]
        others = [one for one in of_kind if not one.event.right]
        yield Figures(
            kind, len(answerable), sum(one.reached for one in answerable), sum(len(one.seen.shown) for one in answerable),
            sum(len(one.seen.shown & one.event.right) for one in answerable),
            len(others), sum(bool(one.seen.characters) for one in others),
        )  # fmt: skip
