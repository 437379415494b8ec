"""Decay: what an entry loses for each month in which nobody used or validated it.

Each idle month is an account of its own among the votes, `idle.2026-04: {down: 10}`. Accounts only grow and merge by
maximum, so a month is taken off once, whoever does it, whenever and however often; who knows that the lore was used in
that month gives it back (`up: 10`). Nothing here depends on how often decay ran before.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engram.domain.entry import confidence
from engram.domain.entry.confidence import FULL, Vote
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.entry.lore import Lore

LOSS = 10  # thousandths for a month
_PREFIX = "idle."
_MONTH = re.compile(r"idle\.\d{4}-\d\d")


def idle_months(start: datetime, uses: Iterable[datetime], now: datetime) -> list[str]:
    """Return the accounts of the months after `start` (made or last validated) in which nobody used an entry, the oldest first.

    A month of the calendar (UTC) counts if nothing happened in it; the present one from the day on which the last use
    is a whole number of months ago.
    """
    later = [moment for moment in uses if start < moment <= now]
    used = {_index(moment) for moment in later}
    first, present = _index(start) + 1, _index(now)
    found = [month for month in range(first, present) if month not in used]
    if first <= present and present not in used and _anniversary(max([start, *later]), now) <= now:
        found.append(present)
    return [_account(month) for month in found]


def used_months(moments: Iterable[datetime | None]) -> set[str]:
    """Return the accounts of the months in which something happened."""
    return {_account(_index(moment)) for moment in moments if moment is not None}


def account_changes(
    votes: Mapping[str, Vote], total: int, idle: Sequence[str], used: Iterable[str]
) -> dict[str, Vote]:
    """Return the accounts that change: of idle months not taken off yet, and of months taken off that were none.

    `total` is the confidence in thousandths before it is held within 0 and 1000: as with a vote, the effective change
    is stored, so what is above 1000 goes with the first month, and nothing is taken off below 0.
    """
    wrong = set(used)
    found = {
        name: Vote(vote.down, vote.down, vote.n)
        for name, vote in votes.items()
        if name in wrong and _MONTH.fullmatch(name) and vote.up < vote.down
    }
    left = total + sum(vote.down - votes[name].up for name, vote in found.items())
    for name in idle:
        if name not in votes and name not in wrong and left > 0:
            found[name] = Vote(0, min(LOSS, left) + max(0, left - FULL), 0)
            left -= found[name].down
    return found


def total_of(lore: Lore) -> int:
    """Return the confidence in thousandths, not held within 0 and 1000."""
    return lore.prior + confidence.balance(lore.votes, len(lore.merged_from))


def balance(votes: Mapping[str, Vote], changes: Mapping[str, Vote]) -> int:
    """By how many thousandths these changes of accounts move the confidence."""
    before = [votes.get(name, Vote()) for name in changes]
    return sum(vote.up - vote.down for vote in changes.values()) - sum(vote.up - vote.down for vote in before)


def decayed(lore: Lore, changes: Mapping[str, Vote]) -> Lore:
    """Return the lore with these accounts. Its dates stay: an entry that fades was not touched by anybody."""
    return lore._replace(votes=dict(sorted({**lore.votes, **changes}.items())))


def _index(moment: datetime) -> int:
    return moment.year * 12 + moment.month - 1


def _account(index: int) -> str:
    return f"{_PREFIX}{index // 12:04d}-{index % 12 + 1:02d}"


def _anniversary(moment: datetime, now: datetime) -> datetime:
    """Return the day of `moment` in the month of `now`; that month's last day where it is shorter."""
    last = (datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC) - timedelta(days=1)).day
    return moment.replace(year=now.year, month=now.month, day=min(moment.day, last))
