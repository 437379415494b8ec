"""Add up the judgements of an entry by replaying them in the order of their ids.

Each line moves the confidence, which is clamped to 0..1 after each, so that repetition cannot push it further; and
since lines contain no weights, nobody can choose their own. Decay is subtracted on reading and never stored.
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
_NEVER = 2_932_896  # the last day of the year 9999; days in the future count as today
DECAY = "decay"  # the account of the loss from decay
_EXCESS = "stated"  # the account of the excess of a stated confidence of format 1 over 0..1
_IDLE = "idle."  # prefix of the accounts of format 1 for decay, which is computed now
MERGED = "merged."  # prefix of the accounts of format 1 for the gain from each folded entry
_WEIGHTED = (HELPFUL, INCORRECT, CONFIRMED)
_SUPPORTING = (HELPFUL, CONFIRMED)
_NO_VOTE = Vote()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Belief(NamedTuple):
    """Whose judgements a clone trusts: `own` are the sources of its user, `ignored` those left out, `names` their names.

    `forged` are the ids of lines that claim to be of this clone but are unknown to it. `signers` are the signers by the
    ids of lines and, for the texts of entries, by the ids of entries; None if signatures are not required.
    """

    own: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    forged: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})
    signers: Mapping[str, str] | None = None

    def accepts(self, line: Judgement) -> bool:
        """Return whether the line counts in this clone."""
        return line.source not in self.ignored and line.id not in self.forged

    def voice(self, signed: str, source: str) -> str | None:
        """Return the source of a line or entry, or its signer by the id `signed` if signatures are required (None: unsigned)."""
        return source if self.signers is None or source in self.own else self.signers.get(signed)

    def person(self, voice: str) -> str:
        """Return the name of the person behind a result of `voice`; "" if unknown."""
        if voice in self.own:
            return next((self.names[source] for source in sorted(self.own) if self.names.get(source)), HERE)
        return self.names.get(voice, "") if self.signers is None else voice


EVERYBODY = Belief()


def day_of(moment: datetime) -> int:
    """Return the UTC day of a moment, counted from 1970."""
    return (moment - _EPOCH).days


def anchor_of(lore: Lore) -> int:
    """Return the day that decay counts from, apart from judgements; never for a person's note, whose date is unknown."""
    return _NEVER if ulid.is_undated(lore.id) else day_of(lore.updated_at)


def live(lines: Iterable[Judgement]) -> list[Judgement]:
    """Return the lines that are not retracted, unique and sorted by id. A source can retract only its own earlier lines."""
    ordered = _sort_lines(list(lines))
    if RETRACTED not in [line[2] for line in ordered]:
        return ordered
    retracted = set[tuple[str, str]]()
    found = []
    for line in reversed(ordered):
        if (line.source, line.id) in retracted:
            continue
        if line.kind == RETRACTED and line.of < line.id:
            retracted.add((line.source, line.of))
        found.append(line)
    return found[::-1]


def _sort_lines(lines: list[Judgement]) -> list[Judgement]:
    """Return unique lines sorted by id, source and content, so that all clones have the same order."""
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
    """Return the tally of an entry on a day (since 1970, UTC) from ledger lines and accounts of format 1.

    `lines` and `accounts` are those of the entry and of all that were folded into it; accounts in its own file count as
    well. `words` is the digest of its current text, since judgements of others support only the text that they are about.
    `known` are corrected times of lines (Unix ms, by id): a line from the future counts as of that time, or its own if
    that is earlier; another line as of the later of both, once that has come.
    """
    all_live, shared, here = _replays(lore, list(lines), accounts, words, belief)
    votes = shared.votes()
    sums = _sums(all_live, shared, here)
    last = sums.last
    if known or last > end_of(today):
        supporting = [_time_of(line, known, today) for line in all_live if line.kind in _SUPPORTING]
        last = max([shared.last, *supporting])
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
    """The sums of an entry's judgements that an index keeps, independent of the day; confidences in thousandths.

    `helped` is the number of helpful votes, `last` the time of the last validation (Unix ms, 0: never) by a clock that
    may be ahead. The other fields are those of `Tally`.
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
    """Return the sums of an entry, from which `tally_from_sums` computes the tally of a day."""
    return _sums(*_replays(lore, lines, accounts, words, belief))


def tally_from_sums(lore: Lore, sums: Sums, today: int) -> Tally:
    """Return the result of `tally` without who judged what."""
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
    """Return the time of a line (Unix ms): its own, unless the corrected one has to be used."""
    own, end = ulid.milliseconds(line.id), end_of(today)
    corrected = known.get(line.id, own)
    if own > end:
        return min(own, corrected)
    return max(own, corrected) if corrected <= end else own


def fade(lore: Lore, full: int, last: int, today: int) -> tuple[int, int]:
    """Return the confidence left of `full` on a day, and the day that decay counts from."""
    anchor = anchor_of(lore)
    if last:
        anchor = max(anchor, last // 86_400_000)
    lost = 0 if lore.pinned else decay(lore.type, full, min(anchor, today), today)
    return full - lost, anchor


def _replays(
    lore: Lore, lines: list[Judgement], accounts: Iterable[LegacyAccount], words: str, belief: Belief
) -> tuple[list[Judgement], _Replay, _Replay]:
    """Return the live lines, their replay, and the replay of the lines that this clone trusts."""
    all_live = live(lines)
    shared = here = _Replay(lore, all_live, accounts, words, belief)
    if belief.ignored or belief.forged:
        accepted = [line for line in lines if belief.accepts(line)]
        if len(accepted) != len(lines):
            here = _Replay(lore, live(accepted), accounts, words, belief)
    return all_live, shared, here


def _sums(lines: Sequence[Judgement], shared: _Replay, here: _Replay) -> Sums:
    modest = here.value if here.is_supported_here() else here.modest
    return Sums(shared.value, shared.count, max(shared.last, _last_support(lines)), here.value, modest)


def _last_support(lines: Sequence[Judgement]) -> int:
    """Return the time of the last of these lines that supports an entry (Unix ms, 0: none)."""
    for line in reversed(lines):
        if line[2] in _SUPPORTING:
            return ulid.milliseconds(line[0])
    return 0


def accounts_of(lore: Lore) -> list[LegacyAccount]:
    """Return the accounts in the file of an entry, if it is of format 1."""
    if not lore.votes:
        return []
    at = int(lore.last_validated.timestamp() * 1000) if lore.last_validated else 0
    votes = {name: vote for name, vote in lore.votes.items() if not name.startswith(_IDLE)}
    votes |= {f"{MERGED}{ulid.short(folded)}": Vote(CONFIRMED_GAIN, 0, 0) for folded in lore.merged_from}
    excess = lore.prior - clamp(lore.prior)
    if excess:
        votes[_EXCESS] = Vote(max(excess, 0), max(-excess, 0), 0)
    return [LegacyAccount(lore.id, name, vote, at if vote.n else 0) for name, vote in sorted(votes.items())]


def without_accounts(lore: Lore) -> Lore:
    """Return an entry of format 1 in format 2: only what its author stated, without the votes of others."""
    if not lore.votes and lore.last_validated is None and lore.prior == clamp(lore.prior):
        return lore
    return lore._replace(prior=clamp(lore.prior), votes={}, last_validated=None)


class _Replay:
    """A replay of the live lines of an entry in the order of their ids; confidences in thousandths.

    `value` is the confidence, `modest` the confidence if the stated one counts as the default at most, `count` the
    number of helpful votes, and `last` the time of the last validation by an account of format 1 (Unix ms).
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
        # By voice, without the author: the lines that support the current text minus those against it.
        self._sums: dict[str, int] = {}
        self._last_lines: dict[str, str] = {}  # by voice, the id of the last line that supports it
        self._accounts: dict[str, Vote] = {}
        self._lines, self._values = lines, list[int]()  # the confidence after each weighted line
        self.count = self.last = 0
        self.value = clamp(lore.prior)
        self._supporters: tuple[str, ...] = ()
        accounts = [*accounts, *accounts_of(lore)]
        if accounts:
            self._add_accounts(lore, accounts)
        self._initial = self.value
        self.modest = min(self.value, DEFAULT_PRIOR)
        if lines:
            self._replay(lore.source_id, lines, words)

    def _add_accounts(self, lore: Lore, accounts: Iterable[LegacyAccount]) -> None:
        known = larger_accounts([_moved_account(account, lore.id) for account in accounts])
        votes = {name: account.vote for (_, name), account in sorted(known.items()) if any(account.vote)}
        self._accounts, self.count = votes, sum(vote.n for vote in votes.values())
        self.last = max(account.at for account in known.values())
        self.value = clamp(self.value + sum(vote.up - vote.down for vote in votes.values()))
        author = ulid.short(lore.source_id) if lore.source_id else ""
        self._supporters = tuple(
            [name for name, vote in votes.items() if name != author and vote.n and vote.up >= vote.down]
        )

    # A rebuild of the index runs this for every line of every ledger, hence a single loop over local variables.

    def _replay(self, author: str | None, lines: Sequence[Judgement], words: str) -> None:
        """Move the confidence by each line, and count who else supports the current text or is against it.

        The first supporting line of each person raises `modest`. Clients of a server are unknown: they move the
        confidence but are no supporters. Neither are the authors of unsigned lines if signatures are required.
        """
        belief, signers = self._belief, self._belief.signers
        value, count, modest, confirmed = self.value, self.count, self.modest, {author}
        sums, last_lines, values = self._sums, self._last_lines, self._values
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
            judge = source if signers is None else belief.voice(line_id, source)
            if text != words or judge is None or (source == author and not client):
                continue
            if not client:
                sums[judge] = sums.get(judge, 0) + (-1 if kind == INCORRECT else 1)
                if kind != INCORRECT:
                    last_lines[judge] = line_id
            if gain > 0 and (person := "" if client else belief.person(judge)) not in raised:
                raised.add(person)
                modest = min(FULL, modest + gain)
        self.value, self.count, self.modest = value, count, modest

    def votes(self) -> dict[str, Vote]:
        """Return how much each account moved the confidence, by name."""
        votes, before = dict(self._accounts), self._initial
        weighted = [line for line in self._lines if line.kind in _WEIGHTED]
        for line, value in zip(weighted, self._values, strict=True):
            helpful, moved, before = line.kind == HELPFUL, value - before, value
            if moved or helpful:
                name = ulid.short(line.source)
                up, down, n = votes.get(name, _NO_VOTE)
                votes[name] = Vote(up + max(moved, 0), down + max(-moved, 0), n + helpful)
        return dict(sorted(votes.items()))

    def is_supported_here(self) -> bool:
        """Return whether the user of this clone supports the text without being its author."""
        if not self._sums:
            return False
        own = self._belief.own
        return sum([sum_ for voice, sum_ in self._sums.items() if voice in own]) > 0

    def people(self) -> tuple[tuple[str, ...], int, int]:
        """Return who supports the text, the latest last, how many people are against it, and the latest time (Unix ms)."""
        if not self._sums:
            return (), 0, 0
        sums, times = dict[str, int](), dict[str, int]()
        for voice, sum_ in self._sums.items():
            person = self._belief.person(voice)
            sums[person] = sums.get(person, 0) + sum_
            last = ulid.milliseconds(self._last_lines[voice]) if voice in self._last_lines else 0
            times[person] = max(times.get(person, 0), last)
        if self._author:
            sums.pop(self._author, None)
        found = sorted(
            [person for person, sum_ in sums.items() if sum_ > 0], key=lambda person: (times[person], person)
        )
        against = sum([sum_ < 0 for sum_ in sums.values()])
        names = found
        if self._belief.signers is not None:
            names = [plain_name(signer.partition(" <")[0]) for signer in found]
        return tuple(names), against, times[found[-1]] if found else 0

    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the voices that support the text, and those against it."""
        if not self._sums:
            return self._supporters, ()
        found = sorted(self._sums.items())
        supporters = [voice for voice, sum_ in found if sum_ > 0]
        return (*supporters, *self._supporters), tuple([voice for voice, sum_ in found if sum_ < 0])


def _moved_account(account: LegacyAccount, entry: str) -> LegacyAccount:
    """Return the account of a folded entry for the one it was folded into: format 1 appends its id to the name."""
    if account.entry == entry:
        return account
    name = account.account if "." in account.account else f"{account.account}.{ulid.short(account.entry)}"
    return account._replace(entry=entry, account=name)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds // 1000, UTC)
