"""The tally of judgements as specified in docs/lore-format.md and docs/security.md: step by step, however slow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.domain.entry import ulid
from engram.domain.entry.confidence import DEFAULT_PRIOR, Tally, Vote, clamp, decay
from engram.domain.judgements import tally as tallies
from engram.domain.judgements.ledger import larger_accounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.domain.entry.lore import Lore
    from engram.domain.judgements.ledger import Judgement, LegacyAccount
    from engram.domain.judgements.tally import Belief

_DAY_MS = 86_400_000


def plain_tally(
    lore: Lore,
    lines: Iterable[Judgement],
    accounts: list[LegacyAccount],
    today: int,
    words: str,
    belief: Belief,
) -> Tally:
    """Do what `engram.domain.judgements.tally.tally` does, for an entry of format 2 that took in no other."""
    lines = sorted(set(lines), key=lambda line: (line.id, line.source, line))
    shared = _Plain(lore, lines, accounts, words, belief)
    here = _Plain(lore, [line for line in lines if belief.accepts(line)], accounts, words, belief)
    anchor = max([tallies.day_of(lore.updated_at), *([shared.last // _DAY_MS] if shared.last else [])])
    last = min(shared.last, (today + 1) * _DAY_MS - 1)
    lost = 0 if lore.pinned else decay(lore.type, shared.value, min(anchor, today), today)
    votes = dict(sorted(shared.votes.items())) | ({"decay": Vote(0, lost, 0)} if lost else {})
    own = sum(count for source, count in here.verdicts.items() if source in belief.own)
    return Tally(
        shared.value - lost,
        shared.value,
        anchor,
        shared.count,
        _moment(last) if last else lore.last_validated,
        votes,
        here.supporters(),
        tuple(source for source, count in sorted(here.verdicts.items()) if count < 0),
        here.value,
        here.value if own > 0 else here.modest,
        *here.people(),
    )


class _Plain:
    def __init__(
        self, lore: Lore, lines: list[Judgement], accounts: list[LegacyAccount], words: str, belief: Belief
    ) -> None:
        known = larger_accounts(accounts)
        self.votes = {name: one.vote for (_, name), one in known.items() if any(one.vote)}
        self.count = sum(vote.n for vote in self.votes.values())
        self.last = max((one.at for one in known.values()), default=0)
        self.value = clamp(clamp(lore.prior) + sum(vote.up - vote.down for vote in self.votes.values()))
        self.modest = min(self.value, DEFAULT_PRIOR)
        self.verdicts: dict[str, int] = {}
        self._lore, self._belief, self._legacy = lore, belief, dict(self.votes)
        self._spoke: dict[str, int] = {}
        confirmed, raised = {lore.source_id}, {belief.person(lore.source_id or "")} - {""}
        for line in lines:
            if self._is_void(line, lines):
                continue
            gain = {"helpful": 80, "incorrect": -150, "confirmed": 100}.get(line.kind, 0)
            if line.kind == "confirmed" and line.source in confirmed:
                gain = 0
            if line.kind == "confirmed":
                confirmed.add(line.source)
            self._move(line, gain)
            is_for = line.kind in ("helpful", "confirmed")
            at = round(ulid.moment(line.id).timestamp() * 1000)
            if is_for:
                self.last = max(self.last, at)
            speaks = line.text == words and line.source != lore.source_id
            person = belief.person(line.source)
            if gain < 0 or (gain > 0 and speaks and person not in raised):
                self.modest = clamp(self.modest + gain)
            if gain > 0 and speaks:
                raised.add(person)
            if speaks and (is_for or line.kind == "incorrect"):
                self.verdicts[line.source] = self.verdicts.get(line.source, 0) + (1 if is_for else -1)
            if speaks and is_for:
                self._spoke[line.source] = at

    def _is_void(self, line: Judgement, lines: list[Judgement]) -> bool:
        return any(
            one.kind == "retracted"
            and (one.of, one.source) == (line.id, line.source)
            and one.id > line.id
            and not self._is_void(one, lines)
            for one in lines
        )

    def _move(self, line: Judgement, gain: int) -> None:
        helpful = line.kind == "helpful"
        before, self.value = self.value, clamp(self.value + gain)
        self.count += helpful
        change = self.value - before
        if change or helpful:
            name = ulid.short(line.source)
            vote = self.votes.get(name, Vote())
            self.votes[name] = Vote(vote.up + max(change, 0), vote.down + max(-change, 0), vote.n + helpful)

    def supporters(self) -> tuple[str, ...]:
        author = ulid.short(self._lore.source_id or "")
        legacy = [
            name
            for name, vote in sorted(self._legacy.items())
            if name != author and vote.n and vote.up >= vote.down
        ]
        return (*[source for source, count in sorted(self.verdicts.items()) if count > 0], *legacy)

    def people(self) -> tuple[tuple[str, ...], int, int]:
        sums, spoke = dict[str, int](), dict[str, int]()
        for source, count in self.verdicts.items():
            person = self._belief.person(source)
            sums[person] = sums.get(person, 0) + count
            spoke[person] = max(spoke.get(person, 0), self._spoke.get(source, 0))
        author = self._belief.person(self._lore.source_id or "")
        if author:
            sums.pop(author, None)
        found = sorted([one for one, count in sums.items() if count > 0], key=lambda one: (spoke[one], one))
        return tuple(found), sum(count < 0 for count in sums.values()), spoke[found[-1]] if found else 0


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds // 1000, UTC)
