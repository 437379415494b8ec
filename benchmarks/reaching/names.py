"""Prompts that name what entries are about, and prompts that ask for nothing: the set in `names_dev`, by real hooks."""

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
    """What came of the prompts: how many of each sort, and how many of them did as wanted.

    `missed` are prompts with one name whose entry did not come, `named` the things that the prompts with several name and
    `found` those of them whose entry came, `disturbed` the quiet turns at which anything came. `shown` counts the entries
    that came, `right` those of them that were wanted.
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


def run(folder: str, together: int, source: str = SET) -> list[Outcome]:
    """Make the store of the set in the folder `source` and put every prompt to a hook in a session of its own."""
    documents = [Document(one["key"], one["text"]) for one in _rows(source, "entries")]
    place = hooks.prepare(retrieval_set.assemble("names_dev", documents, {}, {}, {}), folder)
    with engram.open(folder, background=False) as store:
        for one in _rows(source, "entities"):
            store.link_entity(one["name"], type=one["type"], aliases=one["aliases"])
        store.refresh()
    drawn = [
        events.prompt(row["kind"], row["q"], frozenset(row["relevant"])) for row in _rows(source, "prompts")
    ]
    return hooks.run(place, drawn, hooks.FRESH, together)


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Add up what came of the prompts."""
    one, several, quiet = (
        [found for found in outcomes if found.event.kind == kind] for kind in (ONE, SEVERAL, QUIET)
    )
    came = [(found.seen.reached & found.event.right, found.event.right) for found in several]
    return Figures(
        len(one), sum(not found.reached for found in one),
        len(several), sum(found == right for found, right in came),
        sum(len(right) for _, right in came), sum(len(found) for found, _ in came),
        len(quiet), sum(bool(found.seen.characters) for found in quiet),
        sum(len(found.seen.shown) for found in outcomes),
        sum(len(found.seen.shown & found.event.right) for found in outcomes),
    )  # fmt: skip


def _rows(source: str, name: str) -> list[dict[str, Any]]:
    with open(os.path.join(source, f"{name}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]
