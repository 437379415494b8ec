"""What an entry is: its fields, their defaults, and what follows from them.

A NamedTuple, not a dataclass: the standard `dataclasses` module alone costs 13 ms of start-up,
a fifth of the budget of a whole `engram query`.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from engram.domain.entry import confidence
from engram.domain.entry.categories import SEMANTIC
from engram.domain.entry.confidence import DEFAULT_PRIOR, Tally, Vote
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

HUMAN = "human"  # the agent of what no agent wrote
ACTIVE, PENDING, ARCHIVED, SUPERSEDED = STATUSES = ("active", "pending", "archived", "superseded")
RELATION_KINDS = ("supersedes", "contradicts", "refines", "caused_by", "see_also")
MAX_CONTENT = 4000
MAX_CONTEXT = 1000
MAX_TITLE = 120
_CLOSING_MARKS = r"\s+#+$"  # compiled by `re` at its first use
NO_VOTES: Mapping[str, Vote] = MappingProxyType({})


class Relation(NamedTuple):
    """A typed link from one entry to another."""

    kind: str
    id: str


class Conflict(NamedTuple):
    """A version that lost a merge, kept whole: which field, its value, which clone wrote it, when (RFC 3339)."""

    field: str
    value: str
    source: str
    at: str


class Lore(NamedTuple):
    """One piece of knowledge. Times are aware UTC datetimes.

    `prior` is the confidence that its author stated, in thousandths. `votes` are the accounts of a file of format 1, and
    so is `last_validated`, unless `tally` says what the ledger's judgements add up to: a store that reads an entry sets
    both; neither is written to a file of format 2.
    """

    id: str
    content: str
    category: str
    created_at: datetime
    updated_at: datetime
    type: str = SEMANTIC
    status: str = ACTIVE
    prior: int = DEFAULT_PRIOR
    votes: Mapping[str, Vote] = NO_VOTES
    last_validated: datetime | None = None
    context: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    merged_from: tuple[str, ...] = ()
    importance: float | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    agent: str = ""
    source_id: str = ""
    sources: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    tally: Tally | None = None

    @property
    def thousandths(self) -> int:
        """The confidence, 0..1000."""
        if self.tally is not None:
            return self.tally.confidence
        return confidence.derive(self.prior, self.votes, len(self.merged_from) if self.votes else 0)

    @property
    def accounts(self) -> Mapping[str, Vote]:
        """How much each clone (short id), and each account of format 1, moved the confidence."""
        return self.votes if self.tally is None else self.tally.accounts

    @property
    def confidence(self) -> float:
        """The confidence, 0.00..1.00, to the two decimals that the file shows."""
        return (self.thousandths + 5) // 10 / 100

    @property
    def state(self) -> str:
        """cold, warm, trusted or authoritative."""
        return confidence.state(self.thousandths)

    @property
    def validation_count(self) -> int:
        """How often it was marked helpful, over all clones."""
        return sum(vote.n for vote in self.accounts.values())

    @property
    def title(self) -> str:
        """The first line of the content, without heading marks."""
        # Nearly always the first line has it, and splitting a whole body into lines is most of the cost.
        return title_of(self.content.partition("\n")[0]) or title_of(self.content)


def title_of(content: str) -> str:
    """Return the title of a body: its first line that says something, without `#` marks, at most 120 characters."""
    for line in content.splitlines():
        text = line.strip().strip("#*_`=- \t")
        if text:
            title = line.strip().lstrip("#").strip()
            if title.endswith("#"):
                title = re.sub(_CLOSING_MARKS, "", title)
            title = title or text
            return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
    return ""
