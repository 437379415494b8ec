"""The history of an entry's confidence, judgement by judgement, without decay."""

from __future__ import annotations

from engram.domain.judgements import tally as tallies
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.domain.entry.confidence import Tally
    from engram.domain.entry.lore import Lore
    from engram.domain.judgements.ledger import Judgement, LegacyAccount


class Step(NamedTuple):
    """A judgement of an entry, the confidence before and after it (thousandths), and the number of helpful votes so far."""

    line: Judgement
    before: int
    after: int
    validation_count: int


class Course(NamedTuple):
    """The history of an entry's confidence; `lines` are those of all sources, sorted by id."""

    lore: Lore
    lines: list[Judgement]
    accounts: list[LegacyAccount]

    def steps(self, limit: int) -> list[Step]:
        """Return the latest judgements, newest first."""
        found = []
        for end in range(len(self.lines), max(0, len(self.lines) - limit), -1):
            before, after = self._upto(self.lore, end - 1), self._upto(self.lore, end)
            found.append(Step(self.lines[end - 1], before.full, after.full, after.validation_count))
        return found

    def upto(self, line_id: str, stated: int) -> Tally:
        """Return the tally of a stated confidence (thousandths) after the judgements with ids before `line_id`."""
        end = sum(line.id < line_id for line in self.lines)
        return self._upto(self.lore._replace(prior=stated, votes={}), end)

    def _upto(self, lore: Lore, end: int) -> Tally:
        return tallies.tally(lore, self.lines[:end], self.accounts, 0)
