"""What the judgements of an entry add up to, by replaying them in the order of their ids.

Each line moves the confidence from where it is, and it stays within 0 and 1 after each: so the sum cannot be pushed
beyond by repetition, and nobody can write a weight of their own. Decay is subtracted on reading and never stored.
docs/merge-rules.md has the reasons.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType

from engram.domain.entry import ulid
from engram.domain.entry.confidence import (
    DEFAULT_PRIOR,
    HELPFUL,
    HELPFUL_GAIN,
    HERE,
    INCORRECT,
    INCORRECT_LOSS,
    Tally,
    Vote,
    clamp,
    decay,
)  # fmt: skip
from engram.domain.judgements.ledger import CONFIRMED, RETRACTED, LegacyAccount, larger_accounts
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.domain.entry.lore import Lore
    from engram.domain.judgements.ledger import Judgement

CONFIRMED_GAIN = 100  # thousandths
DECAY = "decay"  # the account of what an entry lost by not being validated
UNSTATED = "stated"  # the account of what a stated confidence of format 1 is beyond 0 and 1
IDLE = "idle."  # the accounts of format 1 for decay, which is derived now
MERGED = "merged."  # the accounts for what format 1 gained by each entry that was folded in
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Belief(NamedTuple):
    """Whom a clone believes: `own` are the sources of its person, `ignored` those set aside, `names` say who a source is.

    `forged` are the ids of lines that claim to be of this clone, which does not have them.
    """

    own: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    forged: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})

    def accepts(self, line: Judgement) -> bool:
        """Return whether the line counts for what is shown in this clone."""
        return line.source not in self.ignored and line.id not in self.forged

    def person(self, source: str) -> str:
        """Return the name of whoever is behind a source: "" for anybody who gave none."""
        if source in self.own:
            return next((self.names[one] for one in sorted(self.own) if self.names.get(one)), HERE)
        return self.names.get(source, "")


EVERYBODY = Belief()


def day_of(moment: datetime) -> int:
    """Return the number of the UTC day since 1970."""
    return (moment - _EPOCH).days


def live(lines: Iterable[Judgement]) -> list[Judgement]:
    """Return the lines that nobody took back, by id. Only the same source takes back, and only an earlier line."""
    taken_back = set[tuple[str, str]]()
    found = []
    for line in sorted(set(lines), key=lambda line: (line.id, line.source), reverse=True):
        if (line.source, line.id) in taken_back:
            continue
        if line.kind == RETRACTED and line.of < line.id:
            taken_back.add((line.source, line.of))
        found.append(line)
    return found[::-1]


def tally(
    lore: Lore,
    lines: Iterable[Judgement],
    accounts: Iterable[LegacyAccount],
    today: int,
    words: str = "",
    belief: Belief = EVERYBODY,
) -> Tally:
    """Return what lines and accounts of format 1 make of an entry on a day (since 1970, UTC).

    They are those of the entry and of all that were folded into it; accounts in the entry's own file count as well.
    `words` is the digest of the words as they are now: judgements of others support those alone.
    """
    lines = list(lines)
    states = _replayed(lore, lines, accounts, today, words, belief)
    accepted = [line for line in lines if belief.accepts(line)]
    here = states
    if len(accepted) != len(lines):
        here = _replayed(lore, accepted, accounts, today, words, belief)
    full = states.value
    anchor = max([day_of(lore.updated_at), *([states.last // 86_400_000] if states.last else [])])
    lost = decay(lore.type, full, min(anchor, today), today) if not lore.pinned else 0
    votes = dict(sorted(states.votes.items()))
    if lost:
        votes[DECAY] = Vote(0, lost, 0)
    last = _moment(states.last) if states.last else lore.last_validated
    people, against, judged_at = here.people()
    return Tally(
        full - lost,
        full,
        anchor,
        states.count,
        last,
        votes,
        *here.sides(),
        believed=here.value,
        modest=here.value if here.is_supported_here() else here.modest,
        people=people,
        against=against,
        judged_at=judged_at,
    )


def _replayed(
    lore: Lore,
    lines: Iterable[Judgement],
    accounts: Iterable[LegacyAccount],
    today: int,
    words: str,
    belief: Belief,
) -> _Replay:
    states = _Replay(lore, accounts, words, belief)
    for line in live(lines):
        states.add(line, today)
        states.weigh(line)
    return states


def accounts_of(lore: Lore) -> list[LegacyAccount]:
    """Return the accounts that the file of an entry holds, if it is of format 1."""
    if not lore.votes:
        return []
    at = int(lore.last_validated.timestamp() * 1000) if lore.last_validated else 0
    votes = {name: vote for name, vote in lore.votes.items() if not name.startswith(IDLE)}
    votes |= {f"{MERGED}{ulid.short(one)}": Vote(CONFIRMED_GAIN, 0, 0) for one in lore.merged_from}
    beyond = lore.prior - clamp(lore.prior)
    if beyond:
        votes[UNSTATED] = Vote(max(beyond, 0), max(-beyond, 0), 0)
    return [LegacyAccount(lore.id, name, vote, at if vote.n else 0) for name, vote in sorted(votes.items())]


def without_accounts(lore: Lore) -> Lore:
    """Return an entry of format 1 as format 2 has it: what its author stated, and nothing that others said."""
    if not lore.votes and lore.last_validated is None and lore.prior == clamp(lore.prior):
        return lore
    return lore._replace(prior=clamp(lore.prior), votes={}, last_validated=None)


class _Replay:
    """The confidence (thousandths) while lines are added to it in order."""

    def __init__(self, lore: Lore, accounts: Iterable[LegacyAccount], words: str, belief: Belief) -> None:
        self._lore = lore
        self._words = words
        self._belief = belief
        self._confirmed = {lore.source_id} if lore.source_id else set[str]()
        known = larger_accounts([_of_heir(one, lore.id) for one in (*accounts, *accounts_of(lore))])
        self.votes: dict[str, Vote] = {name: one.vote for (_, name), one in known.items() if any(one.vote)}
        self.count = sum(vote.n for vote in self.votes.values())
        self.last = max((one.at for one in known.values()), default=0)
        self.value = clamp(clamp(lore.prior) + sum(vote.up - vote.down for vote in self.votes.values()))
        self.modest = min(self.value, DEFAULT_PRIOR)
        self._author = belief.person(lore.source_id) if lore.source_id else ""
        self._raised = {self._author} if self._author else set[str]()
        self._verdicts: dict[str, int] = {}
        self._spoke: dict[str, int] = {}  # when a source last supported the words, in ms
        author = ulid.short(lore.source_id) if lore.source_id else ""
        self._legacy = {name: vote for name, vote in self.votes.items() if name != author}

    def add(self, line: Judgement, today: int) -> None:
        gain = 0
        if line.kind == HELPFUL:
            gain, self.count = HELPFUL_GAIN, self.count + 1
        elif line.kind == INCORRECT:
            gain = -INCORRECT_LOSS
        elif line.kind == CONFIRMED and (voice := line.client or line.source) not in self._confirmed:
            gain = CONFIRMED_GAIN
            self._confirmed.add(voice)
        if line.kind in (HELPFUL, CONFIRMED):
            self.last = max(self.last, min(_milliseconds(line.id), (today + 1) * 86_400_000 - 1))
        before, self.value = self.value, clamp(self.value + gain)
        self._count_vote(line, self.value - before)
        if gain < 0 or (gain and self._is_first_of_person(line)):
            self.modest = clamp(self.modest + gain)

    def _is_first_of_person(self, line: Judgement) -> bool:
        """Return whether a person other than the author speaks for the present words for the first time."""
        if line.text != self._words or (line.source == self._lore.source_id and not line.client):
            return False
        person = "" if line.client else self._belief.person(line.source)
        if person in self._raised:
            return False
        self._raised.add(person)
        return True

    def weigh(self, line: Judgement) -> None:
        """Note what the line says of the words as they are now, unless it is the author's own.

        Who a client of a server is, nobody knows: its word moves the confidence, and makes no supporter.
        """
        if line.client:
            return
        sign = {HELPFUL: 1, CONFIRMED: 1, INCORRECT: -1}.get(line.kind, 0)
        if sign and line.text == self._words and line.source != self._lore.source_id:
            self._verdicts[line.source] = self._verdicts.get(line.source, 0) + sign
            if sign > 0:
                self._spoke[line.source] = _milliseconds(line.id)

    def is_supported_here(self) -> bool:
        """Return whether the person at this clone, not being the author, speaks for the words."""
        own = [sum_ for source, sum_ in self._verdicts.items() if source in self._belief.own]
        return sum(own) > 0

    def people(self) -> tuple[tuple[str, ...], int, int]:
        """Return who supports the words, the latest last, how many people do not, and when the latest did (Unix ms)."""
        verdicts, spoke = dict[str, int](), dict[str, int]()
        for source, sum_ in self._verdicts.items():
            person = self._belief.person(source)
            verdicts[person] = verdicts.get(person, 0) + sum_
            spoke[person] = max(spoke.get(person, 0), self._spoke.get(source, 0))
        if self._author:
            verdicts.pop(self._author, None)
        found = sorted([one for one, sum_ in verdicts.items() if sum_ > 0], key=lambda one: (spoke[one], one))
        return tuple(found), sum(one < 0 for one in verdicts.values()), spoke[found[-1]] if found else 0

    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the sources that speak for the words, and those that speak against them."""
        found = sorted(self._verdicts.items())
        before = [name for name, vote in self._legacy.items() if vote.n and vote.up >= vote.down]
        supporters = [*[one for one, sum_ in found if sum_ > 0], *before]
        return tuple(supporters), tuple([one for one, sum_ in found if sum_ < 0])

    def _count_vote(self, line: Judgement, change: int) -> None:
        helpful = line.kind == HELPFUL
        if not change and not helpful:
            return
        name = ulid.short(line.source)
        vote = self.votes.get(name, Vote())
        self.votes[name] = Vote(vote.up + max(change, 0), vote.down + max(-change, 0), vote.n + helpful)


def _of_heir(account: LegacyAccount, heir: str) -> LegacyAccount:
    """Return an account as the entry that took in its own has it: format 1 adds the entry to the clone's name."""
    if account.entry == heir:
        return account
    name = account.account if "." in account.account else f"{account.account}.{ulid.short(account.entry)}"
    return account._replace(entry=heir, account=name)


def _milliseconds(line_id: str) -> int:
    return int(ulid.moment(line_id).timestamp() * 1000)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds // 1000, UTC)
