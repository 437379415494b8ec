"""What the judgements of an entry add up to, by replaying them in the order of their ids.

Each line moves the confidence from where it is, and it stays within 0 and 1 after each: so the sum cannot be pushed
beyond by repetition, and nobody can write a weight of their own. Decay is subtracted on reading and never stored.
docs/merge-rules.md has the reasons.
"""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from types import MappingProxyType

from engram.domain.entry import ulid
from engram.domain.entry.confidence import (
    DEFAULT_PRIOR,
    FULL,
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
from engram.domain.entry.people import plain_name
from engram.domain.judgements.ledger import CONFIRMED, RETRACTED, Judgement, LegacyAccount, larger_accounts
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.entry.lore import Lore

CONFIRMED_GAIN = 100  # thousandths
_NEVER = 2_932_896  # the last day of the year 9999: what lies ahead counts as now
DECAY = "decay"  # the account of what an entry lost by not being validated
UNSTATED = "stated"  # the account of what a stated confidence of format 1 is beyond 0 and 1
IDLE = "idle."  # the accounts of format 1 for decay, which is derived now
MERGED = "merged."  # the accounts for what format 1 gained by each entry that was folded in
_MOVING = (HELPFUL, INCORRECT, CONFIRMED)
_FOR = (HELPFUL, CONFIRMED)
_NO_VOTE = Vote()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Belief(NamedTuple):
    """Whom a clone believes: `own` are the sources of its person, `ignored` those left out, `names` say who a source is.

    `forged` are the ids of lines that claim to be of this clone, which does not have them. Where signatures are demanded,
    `signers` say who signed: a line by its id, and the words of an entry by its own; else it is None.
    """

    own: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    forged: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})
    signers: Mapping[str, str] | None = None

    def accepts(self, line: Judgement) -> bool:
        """Return whether the line counts for what is shown in this clone."""
        return line.source not in self.ignored and line.id not in self.forged

    def voice(self, signed: str, source: str) -> str | None:
        """Return whose word a line or an entry (its id) of a source is: who signed it where that is asked for; None: nobody's."""
        return source if self.signers is None or source in self.own else self.signers.get(signed)

    def person(self, voice: str) -> str:
        """Return the name of whoever has a voice: "" for anybody who gave none."""
        if voice in self.own:
            return next((self.names[one] for one in sorted(self.own) if self.names.get(one)), HERE)
        return self.names.get(voice, "") if self.signers is None else voice


EVERYBODY = Belief()


def day_of(moment: datetime) -> int:
    """Return the number of the UTC day since 1970."""
    return (moment - _EPOCH).days


def anchor_of(lore: Lore) -> int:
    """Return the day that decay counts from, judgements aside: no day for a person's note, which Engram only found."""
    return _NEVER if ulid.is_undated(lore.id) else day_of(lore.updated_at)


def live(lines: Iterable[Judgement]) -> list[Judgement]:
    """Return the lines that nobody took back, by id, each once. Only the same source takes back, and only an earlier line."""
    ordered = _sort_lines(list(lines))
    if RETRACTED not in [line[2] for line in ordered]:
        return ordered
    taken_back = set[tuple[str, str]]()
    found = []
    for line in reversed(ordered):
        if (line.source, line.id) in taken_back:
            continue
        if line.kind == RETRACTED and line.of < line.id:
            taken_back.add((line.source, line.of))
        found.append(line)
    return found[::-1]


def _sort_lines(lines: list[Judgement]) -> list[Judgement]:
    """Return lines by id, each once; of one id by source, then by what they say, so that every clone has one order."""
    ids = [line[0] for line in lines]
    if all(map(operator.lt, ids, ids[1:])):
        return lines
    return sorted(set(lines), key=lambda line: (line.id, line.source, line))


def tally(
    lore: Lore,
    lines: Iterable[Judgement],
    accounts: Iterable[LegacyAccount],
    today: int,
    words: str = "",
    belief: Belief = EVERYBODY,
    known: Mapping[str, int] = MappingProxyType({}),
) -> Tally:
    """Return what lines and accounts of format 1 make of an entry on a day (since 1970, UTC).

    Lines whose own time cannot be right came when it is `known` (Unix ms, by their ids): one of a later day counts as of
    then, and of that day at the latest; an earlier one as of then, as soon as that has come.

    They are those of the entry and of all that were folded into it; accounts in the entry's own file count as well.
    `words` is the digest of the words as they are now: judgements of others support those alone.
    """
    all_live, states, here = _replays(lore, list(lines), accounts, words, belief)
    votes = states.votes()
    sums = _sums(all_live, states, here)
    last = sums.last
    if known or last > end_of(today):
        supports = [_time_of(line, known, today) for line in all_live if line.kind in _FOR]
        last = max([states.last, *supports])
    confidence, anchor = fade(lore, sums.full, last, today)
    last = min(last, end_of(today))
    if confidence < sums.full:
        votes[DECAY] = Vote(0, sums.full - confidence, 0)
    people, against, judged_at = here.people()
    supporters, opponents = here.sides()
    return Tally(
        confidence,
        sums.full,
        anchor,
        sums.helped,
        _moment(last) if last else lore.last_validated,
        votes,
        supporters,
        opponents,
        sums.believed,
        sums.modest,
        people,
        against,
        judged_at,
        belief.signers is not None,
    )


class Sums(NamedTuple):
    """What an index keeps of the judgements of an entry, the same on every day; confidences in thousandths.

    `helped` says how often it was helpful, `last` when it was last validated (Unix ms, 0: never), by a clock that may be
    ahead. The rest is as `Tally` has it.
    """

    full: int
    helped: int
    last: int
    believed: int
    modest: int


def sums_of(
    lore: Lore,
    lines: list[Judgement],
    accounts: Iterable[LegacyAccount],
    words: str,
    belief: Belief = EVERYBODY,
) -> Sums:
    """Return the sums of an entry; `of_sums` makes of them what `tally` does of the lines and accounts."""
    return _sums(*_replays(lore, lines, accounts, words, belief))


def of_sums(lore: Lore, sums: Sums, today: int) -> Tally:
    """Return what `tally` does, without who judged what."""
    last = min(sums.last, end_of(today))
    confidence, anchor = fade(lore, sums.full, sums.last, today)
    moment = _moment(last) if last else lore.last_validated
    return Tally(
        confidence, sums.full, anchor, sums.helped, moment, {}, believed=sums.believed, modest=sums.modest
    )


def end_of(day: int) -> int:
    """Return the last millisecond of a day (since 1970, UTC)."""
    return (day + 1) * 86_400_000 - 1


def _time_of(line: Judgement, known: Mapping[str, int], today: int) -> int:
    """Return when a line was written (Unix ms): by its own time, if that can be right."""
    own, end = ulid.milliseconds(line.id), end_of(today)
    came = known.get(line.id, own)
    if own > end:
        return min(own, came)
    return max(own, came) if came <= end else own


def fade(lore: Lore, full: int, last: int, today: int) -> tuple[int, int]:
    """Return the confidence that is left of `full` on a day, and the day that decay counts from."""
    anchor = anchor_of(lore)
    if last:
        anchor = max(anchor, last // 86_400_000)
    lost = 0 if lore.pinned else decay(lore.type, full, min(anchor, today), today)
    return full - lost, anchor


def _replays(
    lore: Lore, lines: list[Judgement], accounts: Iterable[LegacyAccount], words: str, belief: Belief
) -> tuple[list[Judgement], _Replay, _Replay]:
    """Return the live lines, what they make of the entry, and what those make of it that this clone believes."""
    all_live = live(lines)
    states = here = _Replay(lore, all_live, accounts, words, belief)
    if belief.ignored or belief.forged:
        accepted = [line for line in lines if belief.accepts(line)]
        if len(accepted) != len(lines):
            here = _Replay(lore, live(accepted), accounts, words, belief)
    return all_live, states, here


def _sums(lines: Sequence[Judgement], states: _Replay, here: _Replay) -> Sums:
    modest = here.value if here.is_supported_here() else here.modest
    return Sums(states.value, states.count, max(states.last, _last_support(lines)), here.value, modest)


def _last_support(lines: Sequence[Judgement]) -> int:
    """Return when the last of these lines that speak for an entry was written (Unix ms, 0: none)."""
    for line in reversed(lines):
        if line[2] in _FOR:
            return ulid.milliseconds(line[0])
    return 0


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
    """What live lines, in the order of their ids, make of an entry; confidences in thousandths.

    `value` is the confidence, `modest` that of a stated one that counts as the default at most; `count` says how often
    it was helpful, `last` when an account of format 1 last validated it (Unix ms).
    """

    def __init__(
        self,
        lore: Lore,
        lines: Sequence[Judgement],
        accounts: Iterable[LegacyAccount],
        words: str,
        belief: Belief,
    ) -> None:
        self._belief = belief
        author = belief.voice(lore.id, lore.source_id) if lore.source_id else ""
        self._author = belief.person(author) if author else ""
        # Of each other voice: how often it spoke for the words less how often against.
        self._sums: dict[str, int] = {}
        self._spoke: dict[str, str] = {}  # the id of the line in which it last spoke for them
        self._accounts: dict[str, Vote] = {}
        self._lines, self._values = lines, list[int]()  # the confidence after each line that can move it
        self.count = self.last = 0
        self.value = clamp(lore.prior)
        self._supporters: tuple[str, ...] = ()
        accounts = [*accounts, *accounts_of(lore)]
        if accounts:
            self._begin_with(lore, accounts)
        self._begun = self.value
        self.modest = min(self.value, DEFAULT_PRIOR)
        if lines:
            self._replay(lore.source_id, lines, words)

    def _begin_with(self, lore: Lore, accounts: Iterable[LegacyAccount]) -> None:
        known = larger_accounts([_of_heir(one, lore.id) for one in accounts])
        votes = {name: one.vote for (_, name), one in sorted(known.items()) if any(one.vote)}
        self._accounts, self.count = votes, sum(vote.n for vote in votes.values())
        self.last = max(one.at for one in known.values())
        self.value = clamp(self.value + sum(vote.up - vote.down for vote in votes.values()))
        author = ulid.short(lore.source_id) if lore.source_id else ""
        self._supporters = tuple(
            [name for name, vote in votes.items() if name != author and vote.n and vote.up >= vote.down]
        )

    # A rebuild comes by here for every line of every ledger, hence one loop over local variables.

    def _replay(self, author: str | None, lines: Sequence[Judgement], words: str) -> None:
        """Move the confidence by each line, and note who else speaks for the present words or against them.

        The first time of a person raises `modest`. Who a client of a server is, nobody knows: its word moves the
        confidence, and makes no supporter. Nor does what nobody signed where signatures are demanded.
        """
        belief, signers = self._belief, self._belief.signers
        value, count, modest, confirmed = self.value, self.count, self.modest, {author}
        sums, spoke, values = self._sums, self._spoke, self._values
        raised = {self._author} if self._author else set()
        for line_id, _, kind, _, text, _, source, client in lines:
            if kind == HELPFUL:
                gain = HELPFUL_GAIN
                count += 1
            elif kind == INCORRECT:
                gain = -INCORRECT_LOSS
                modest = max(0, modest + gain)
            elif kind == CONFIRMED:
                voice = client or source
                gain = 0 if voice in confirmed else CONFIRMED_GAIN
                confirmed.add(voice)
            else:
                continue
            value += gain
            if not 0 <= value <= FULL:
                value = clamp(value)
            values.append(value)
            said_by = source if signers is None else belief.voice(line_id, source)
            if text != words or said_by is None or (source == author and not client):
                continue
            if not client:
                sums[said_by] = sums.get(said_by, 0) + (-1 if kind == INCORRECT else 1)
                if kind != INCORRECT:
                    spoke[said_by] = line_id
            if gain > 0 and (person := "" if client else belief.person(said_by)) not in raised:
                raised.add(person)
                modest = min(FULL, modest + gain)
        self.value, self.count, self.modest = value, count, modest

    def votes(self) -> dict[str, Vote]:
        """Return how much each account moved the confidence, by name."""
        votes, before = dict(self._accounts), self._begun
        moving = [line for line in self._lines if line.kind in _MOVING]
        for line, value in zip(moving, self._values, strict=True):
            helpful, moved, before = line.kind == HELPFUL, value - before, value
            if moved or helpful:
                name = ulid.short(line.source)
                up, down, n = votes.get(name, _NO_VOTE)
                votes[name] = Vote(up + max(moved, 0), down + max(-moved, 0), n + helpful)
        return dict(sorted(votes.items()))

    def is_supported_here(self) -> bool:
        """Return whether the person at this clone, not being the author, speaks for the words."""
        if not self._sums:
            return False
        own = self._belief.own
        return sum([sum_ for voice, sum_ in self._sums.items() if voice in own]) > 0

    def people(self) -> tuple[tuple[str, ...], int, int]:
        """Return who supports the words, the latest last, how many people do not, and when the latest did (Unix ms)."""
        if not self._sums:
            return (), 0, 0
        sums, spoke = dict[str, int](), dict[str, int]()
        for voice, sum_ in self._sums.items():
            person = self._belief.person(voice)
            sums[person] = sums.get(person, 0) + sum_
            said = ulid.milliseconds(self._spoke[voice]) if voice in self._spoke else 0
            spoke[person] = max(spoke.get(person, 0), said)
        if self._author:
            sums.pop(self._author, None)
        found = sorted([one for one, sum_ in sums.items() if sum_ > 0], key=lambda one: (spoke[one], one))
        against = sum([one < 0 for one in sums.values()])
        names = (
            found if self._belief.signers is None else [plain_name(one.partition(" <")[0]) for one in found]
        )
        return tuple(names), against, spoke[found[-1]] if found else 0

    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the voices that speak for the words, and those that speak against them."""
        if not self._sums:
            return self._supporters, ()
        found = sorted(self._sums.items())
        supporters = [one for one, sum_ in found if sum_ > 0]
        return (*supporters, *self._supporters), tuple([one for one, sum_ in found if sum_ < 0])


def _of_heir(account: LegacyAccount, heir: str) -> LegacyAccount:
    """Return an account as the entry that took in its own has it: format 1 adds the entry to the clone's name."""
    if account.entry == heir:
        return account
    name = account.account if "." in account.account else f"{account.account}.{ulid.short(account.entry)}"
    return account._replace(entry=heir, account=name)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds // 1000, UTC)
