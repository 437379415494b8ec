"""The filters of a list of entries: a value for each facet, and queries for the possible values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.entry.categories import TYPES
from engram.domain.entry.confidence import STATES, state
from engram.domain.entry.lore import HUMAN, STATUSES
from engram.usecases.lookup.filter import Filter

if TYPE_CHECKING:
    from engram.app import Engram
    from engram_tui.widgets.rows import Row

NAMES = ("scope", "category", "status", "type", "tag", "confidence", "agent", "age")
AGES = {"today": 86_400, "this week": 604_800, "this month": 2_592_000, "this year": 31_536_000}
MAX_TAGS = 300


class Facets(NamedTuple):
    """The value of each facet; "" filters nothing."""

    scope: str = ""
    category: str = ""
    status: str = ""
    type: str = ""
    tag: str = ""
    confidence: str = ""
    agent: str = ""
    age: str = ""

    def conditions(self, now: float) -> Filter:
        """Return the conditions beyond category, status and tag."""
        lowest, highest = band_limits(self.confidence)
        return Filter(
            types=(self.type,) if self.type else (),
            agents=(self.agent,) if self.agent else (),
            min_confidence=lowest,
            max_confidence=highest,
            since=now - AGES[self.age] if self.age in AGES else float("-inf"),
        )

    def matches(self, row: Row, now: float) -> bool:
        """Return whether the entry of a row passes the filters that a query does not support."""
        lowest, highest = band_limits(self.confidence)
        return (
            lowest <= row.confidence <= highest
            and (not self.status or row.status == self.status)
            and (not self.agent or row.agent == self.agent)
            and (self.age not in AGES or now - row.created_at <= AGES[self.age])
        )

    @property
    def text(self) -> str:
        """The filters that are set, in a line."""
        return " · ".join(
            f"{name} {label(name, value)}" for name, value in zip(NAMES, self, strict=True) if value
        )

    @property
    def saved(self) -> str:
        """The form in which the app saves them."""
        return "\n".join(self)

    @classmethod
    def from_saved(cls, text: str) -> Facets:
        """Parse what `saved` wrote; anything else is no filter."""
        values = text.split("\n")
        if len(values) != len(NAMES):
            return cls()
        found = cls(*values)
        known = found.confidence in ("", *STATES) and found.age in ("", *AGES)
        return found if known and found.status in ("", *STATUSES) and found.type in ("", *TYPES) else cls()


def label(facet: str, value: str) -> str:
    """Return the label of a value."""
    return "people" if facet == "agent" and value == HUMAN else value


def band_limits(name: str) -> tuple[int, int]:
    """Return the lowest and the highest confidence of a band, in thousandths; (0, 1000) for an unknown one."""
    inside = [thousandths for thousandths in range(1001) if state(thousandths) == name]
    return (inside[0], inside[-1]) if inside else (0, 1000)


def values_of(store: Engram, facet: str) -> list[tuple[str, str]]:
    """List the values of a facet with a note on each, such as the number of its entries if that is found quickly."""
    if facet == "scope":
        return [(scope.name, f"{scope.path}") for scope in store.scopes() if scope.exists]
    if facet == "age":
        return [(name, "") for name in AGES]
    if facet == "confidence":
        return [
            (name, f"{band_limits(name)[0] / 1000:.2f} to {band_limits(name)[1] / 1000:.2f}")
            for name in STATES
        ]
    generation = store.store.index.look()
    if generation is None:
        return []
    counted = generation.catalog.count_tags() if facet == "tag" else generation.catalog.count_by(facet)
    known = {"status": STATUSES, "type": TYPES}.get(facet, ())
    counted = {**counted, **{name: 0 for name in known if name not in counted}}  # even if no entry has it
    return [(str(name), f"{count:,}") for name, count in list(counted.items())[:MAX_TAGS] if name]
