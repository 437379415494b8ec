"""Run the set in `names_dev` by real hooks: prompts that name the subjects of entries, and quiet turns."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import retrieval_set
from retrieval_set import Document
from scratch_store import ROOT

import engram
from reaching import events, hooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reaching.hooks import Outcome

SET = os.path.join(ROOT, "benchmarks", "names_dev")
ONE, SEVERAL, QUIET = "one", "several", "quiet"


class Figures(NamedTuple):
    """Counts of prompts with one name, with several, and of quiet turns, and of their results.

    `missed`: prompts with one name whose entry was not shown; `together`: prompts with several names for which all entries were
    shown; `named`: names in these, `found`: those whose entry was shown; `disturbed`: quiet turns at which anything was shown;
    `shown`: entries shown, `right`: those of them that were wanted.
    """

    one: int
    missed: int
    several: int
    together: int
    named: int
    found: int
    quiet: int
    disturbed: int
    shown: int
    right: int


def run(folder: str, parallel: int, source: str = SET) -> list[Outcome]:
    """Make the store of the set in the folder `source`, and run the hook for every prompt in a session of its own."""
    documents = [Document(one["key"], one["text"]) for one in _rows(source, "entries")]
    place = hooks.prepare(retrieval_set.assemble("names_dev", documents, {}, {}, {}), folder)
    with engram.open(folder, background=False) as store:
        for one in _rows(source, "entities"):
            store.link_entity(one["name"], type=one["type"], aliases=one["aliases"])
        store.refresh()
    drawn = [
        events.prompt(row["kind"], row["q"], frozenset(row["relevant"])) for row in _rows(source, "prompts")
    ]
    return hooks.run(place, drawn, hooks.FRESH, parallel)


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Add up the outcomes of the prompts."""
    one, several, quiet = (
        [found for found in outcomes if found.event.kind == kind] for kind in (ONE, SEVERAL, QUIET)
    )
    results = [(found.seen.reached & found.event.right, found.event.right) for found in several]
    return Figures(
        len(one), sum(not found.reached for found in one),
        len(several), sum(found == right for found, right in results),
        sum(len(right) for _, right in results), sum(len(found) for found, _ in results),
        len(quiet), sum(bool(found.seen.characters) for found in quiet),
        sum(len(found.seen.shown) for found in outcomes),
        sum(len(found.seen.shown & found.event.right) for found in outcomes),
    )  # fmt: skip


def _rows(source: str, name: str) -> list[dict[str, Any]]:
    with open(os.path.join(source, f"{name}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]
