"""Skills: procedural entries that say how to do a thing, some with a query that can be run, and how well they did so far."""

from __future__ import annotations

import re

from engram.domain.entry.categories import PROCEDURAL
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

TAG = "skill"
_FENCE = re.compile(
    r"^(?P<marks>`{3,}|~{3,})[ \t]*(?:sql|surql|surrealql)\b[^\n]*\n(?P<sql>.*?)^(?P=marks)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_SWAY = 0.25  # so much of its score a skill can win or lose by how its runs ended
_DOUBT = 2  # runs that are as good as none


class Record(NamedTuple):
    """How often a skill was run on this machine, and how often that went well."""

    runs: int = 0
    successes: int = 0

    @property
    def factor(self) -> float:
        """What its score is multiplied with: 1 for one that was never run, more the oftener it went well."""
        return 1 + _SWAY * (2 * self.successes - self.runs) / (self.runs + _DOUBT)


NEVER = Record()


def is_skill(lore: Lore) -> bool:
    """Return whether an entry is a skill: procedural, with the tag `skill`."""
    return lore.type == PROCEDURAL and TAG in lore.tags


def query_of(content: str) -> str:
    """Return the first block of SQL in a text; "" where there is none: then the text is the recipe."""
    found = _FENCE.search(content)
    return found["sql"].strip() if found else ""
