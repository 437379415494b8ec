"""Skills: procedural entries, some with a query that can be run, and their record of success."""

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
_LARGEST_EFFECT = 0.25  # the share of its score that a skill can gain or lose by its record
_PRIOR_RUNS = 2  # neutral runs assumed before the first one


class Record(NamedTuple):
    """How often a skill was run on this machine, and how often it succeeded."""

    runs: int = 0
    successes: int = 0

    @property
    def factor(self) -> float:
        """The factor of the skill's score: 1 before the first run, then higher the more often it succeeded."""
        return 1 + _LARGEST_EFFECT * (2 * self.successes - self.runs) / (self.runs + _PRIOR_RUNS)


NEVER = Record()


def is_skill(lore: Lore) -> bool:
    """Return whether an entry is a skill: procedural, with the tag `skill`."""
    return lore.type == PROCEDURAL and TAG in lore.tags


def query_of(content: str) -> str:
    """Return the first block of SQL in a text; "" for a recipe, which has none."""
    found = _FENCE.search(content)
    return found["sql"].strip() if found else ""
