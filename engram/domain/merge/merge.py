"""Merge two versions of a record: rules for three-way merges of fields.

Every rule is symmetric and depends only on its arguments, so that all clones get the same result. `entry_merge` and
`named_merge` have the rule for each field. docs/merge-rules.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from engram.domain.entry import times
from engram.domain.entry.lore import MAX_ITEMS, Conflict, Settlement
from engram.domain.merge.settlements import Clash, open_conflicts
from engram.domain.merge.text_merge import NO_TEXT, merge_versions

Item = TypeVar("Item")
_MAX_AHEAD = timedelta(hours=24)
# The `updated_at` of a version without one: every other is later.
NEVER = datetime.min.replace(tzinfo=UTC)


class Edit(NamedTuple):
    """The author and time of a version, by its history; "" and None if unknown."""

    by: str = ""
    at: datetime | None = None


UNKNOWN = Edit()


class Version(NamedTuple):
    """One side of a merge: an entry, entity or agent's profile. `updated_at` is `NEVER` if its file has none.

    `digest`, that of the file, breaks ties.
    """

    record: Any
    updated_at: datetime
    conflicts: tuple[Conflict, ...] = ()
    digest: bytes = b""
    edit: Edit = UNKNOWN

    @property
    def written(self) -> Edit:
        """The author and time, by the history, else by the file."""
        return Edit(self.edit.by, self.edit.at or self.updated_at)


class Settled(NamedTuple):
    """A merged version, the fields in which the sides differed, and the new elements of `conflicts`.

    `contested` says whether it mattered which side won.
    """

    version: Version
    fields: tuple[str, ...]
    losses: tuple[Conflict, ...]
    contested: bool


class Field(NamedTuple):
    """A field of the base, the winner and the loser. `lose` receives the losing value as text, from `shown`.

    `tight` asks for the winner's value only.
    """

    before: Any
    one: Any
    other: Any
    shown: Callable[[Any], str]
    lose: Callable[[str], None]
    tight: bool

    def keep_winner(self) -> Any:
        """Return the winner's value, and record the loser's as lost."""
        self.lose(self.shown(self.other))
        return self.one


class Rule(NamedTuple):
    """How to merge a field, and how to show a value of it."""

    merge: Callable[[Field], Any]
    shown: Callable[[Any], str] = str


def reference_time(clock: datetime, heads: Sequence[datetime]) -> datetime:
    """Return the time of a merge of two commits: the latest of their times that is plausible by this machine's clock.

    The clock only rules out commits dated over 24 hours ahead, so that all machines with a correct clock get the same
    time whenever they merge. If all commits are ahead, the earliest counts.
    """
    plausible = [head for head in heads if head - clock <= _MAX_AHEAD]
    return max(plausible) if plausible else min(heads)


def in_order(ours: Version, theirs: Version, now: datetime) -> tuple[Version, Version]:
    """Return the winner and the loser, by time, then digest; a time over 24 hours after `now` never wins."""
    ranks = [(*_time_key(side.edit.at or side.updated_at, now), side.digest) for side in (ours, theirs)]
    return (ours, theirs) if ranks[0] >= ranks[1] else (theirs, ours)


def merge_records(
    base: Version,
    winner: Version,
    loser: Version,
    rules: Mapping[str, Rule],
    now: datetime,
    lost: Iterable[Conflict] = (),
    tight: bool = False,
    settled: Sequence[Settlement] = (),
    clashes: Iterable[Clash] = (),
) -> Settled:
    """Merge the fields that have a rule, of versions in the order of `in_order`; the others are the winner's.

    `lost` are losing versions of parts that are no fields; they are added to `conflicts`. If settlements of a field
    clash, the side with the later settlement wins.
    """
    losses = list(lost)
    reopened = {clash.field: clash for clash in clashes}
    found: dict[str, Any] = {}
    for name, rule in rules.items():
        before, one, other = [getattr(version.record, name) for version in (base, winner, loser)]
        clash = reopened.get(name)
        if clash and not clash.winner_is_later:
            one, other = other, one

        def lose(value: str, name: str = name, clash: Clash | None = clash) -> None:
            losses.append(clash.reopen(value) if clash else loss(name, value, loser.written, winner.edit))

        field = Field(before, one, other, rule.shown, lose, tight)
        # A text is merged even if it was settled differently, since edits elsewhere in it must not be lost.
        is_kept_whole = clash is not None and one != other and name != "content"
        found[name] = field.keep_winner() if is_kept_whole else rule.merge(field)
    known = (*winner.conflicts, *loser.conflicts)
    conflicts = merge_conflicts(base.conflicts, winner.conflicts, loser.conflicts, losses)
    conflicts = open_conflicts(conflicts, settled)
    new = {_key(entry) for entry in conflicts} - {_key(entry) for entry in known}
    stamp = latest([winner.updated_at, loser.updated_at], now)
    return Settled(
        Version(winner.record._replace(**found), stamp, conflicts),
        differing(winner.record, loser.record),
        tuple([entry for entry in sorted(losses) if _key(entry) in new]),
        bool(losses),
    )


def differing(one: Any, other: Any) -> tuple[str, ...]:
    """Return the names of the fields in which two records differ."""
    return tuple([name for name in one._fields if getattr(one, name) != getattr(other, name)])


def scalar(field: Field) -> Any:
    """Merge a value: that of the side that changed it; the winner's if both changed it differently."""
    if field.before != field.one != field.other != field.before:
        return field.keep_winner()
    return field.other if field.one == field.before else field.one


def items(field: Field, most: int = MAX_ITEMS) -> Any:
    """Merge a list; if the union is too long, take the winner's. A list of one side is never too long."""
    merged = merge_list(field.before, field.one, field.other)
    if merged != field.one and (field.tight or (merged != field.other and len(merged) > most)):
        return field.keep_winner()
    return merged


def text(field: Field, fits: Callable[[str], bool] = lambda _: True) -> str:
    """Merge a text by lines; without a base an empty text loses."""
    before, one, other = field[:3]
    if one == other:
        return str(one)
    if before == NO_TEXT and not (one and other):
        return str(one or other)
    merged, left = merge_versions(before, one, other)
    if (field.tight and merged != one) or not fits(merged):
        merged, left = one, other
    elif not fits(left):
        left = other
    if merged != left:
        field.lose(left)
    return merged


def loss(field: str, value: str, loser: Edit, winner: Edit) -> Conflict:
    """Return a losing value, or a whole file, as an entry of `conflicts`."""
    lost_at, kept_at = ("" if edit.at in (None, NEVER) else times.render(edit.at) for edit in (loser, winner))
    return Conflict(field, value, loser.by, lost_at, winner.by, kept_at)


def merge_list(base: Sequence[Item], one: Sequence[Item], other: Sequence[Item]) -> tuple[Item, ...]:
    """Merge lists: items that both sides have, and items that one side added to the base.

    If only one side changed the list, its version is taken as it is. Otherwise items of the base come first, in its
    order, then new items, sorted and without duplicates, so that the result does not depend on the order of merging.
    """
    if tuple(one) == tuple(base) or tuple(one) == tuple(other):
        return tuple(dict.fromkeys(other))
    if tuple(other) == tuple(base):
        return tuple(dict.fromkeys(one))
    first, second, old = set(one), set(other), set(base)
    return _order_items(base, (first & second) | (first - old) | (second - old))


def union_of(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the union: the list that already has all elements, else sorted."""
    both = {*one, *other}
    complete = {tuple(side) for side in (one, other) if set(side) == both}
    return complete.pop() if len(complete) == 1 else tuple(sorted(both))


def merge_conflicts(
    base: Sequence[Conflict], one: Sequence[Conflict], other: Sequence[Conflict], losses: Iterable[Conflict]
) -> tuple[Conflict, ...]:
    """Merge `conflicts` by field and value, without those that one side resolved, and add new losses."""
    sides = [[_key(entry) for entry in side] for side in (base, one, other)]
    keys = merge_list(*sides)
    new = {_key(entry): entry for entry in sorted(losses)}
    if new.keys() - set(keys):
        keys = _order_items(sides[0], {*keys, *new})
    ordered = sorted([*one, *other, *new.values()], key=lambda entry: (entry.at, entry))
    last = {_key(entry): entry for entry in ordered}
    return tuple([last[key] for key in keys])


def latest(moments: Iterable[datetime], now: datetime) -> datetime:
    """Return the latest moment; one more than 24 hours after `now` only if there is no other."""
    return max(moments, key=lambda moment: _time_key(moment, now))


def _time_key(moment: datetime, now: datetime) -> tuple[bool, datetime]:
    """Return a sort key by which moments too far ahead come first, then earlier ones."""
    return moment - now <= _MAX_AHEAD, moment


def _order_items(base: Iterable[Item], items: set[Item]) -> tuple[Item, ...]:
    kept = dict.fromkeys([item for item in base if item in items])
    return (*kept, *sorted(items - kept.keys()))  # type: ignore[type-var]


def _key(entry: Conflict) -> tuple[str, str]:
    return entry.field, entry.value
