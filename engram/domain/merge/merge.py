"""Merge two versions of one entry: the rule of each field, as values.

Every rule is symmetric, and looks at nothing but its arguments, so that all clones get the same result.
The rules and their reasons are in docs/merge-rules.md.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from engram.domain.entry import times
from engram.domain.entry.confidence import Vote, larger
from engram.domain.entry.lore import MAX_ITEMS, Conflict, Lore, limit_after
from engram.domain.entry.moments import MOST as MOST_MOMENTS
from engram.domain.merge.settlements import conflict_key, merge_settlements, unsettled
from engram.domain.merge.text_merge import common, merge_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.entry.categories import Categories
    from engram.domain.merge.settlements import Clash

Item = TypeVar("Item")
TRUSTED_AHEAD = timedelta(hours=24)
# The `updated_at` of a version that says none: every other is later.
NEVER = datetime.min.replace(tzinfo=UTC)
# Fields that a clone may change without keeping an entry that another clone deletes.
PASSING = ("votes", "last_validated", "created_at", "updated_at")


class Edit(NamedTuple):
    """Who wrote a version and when, as its history says; "" and None where that is not known."""

    by: str = ""
    at: datetime | None = None


UNKNOWN = Edit()


class Version(NamedTuple):
    """One side of a merge. `digest` is of the bytes of its file and breaks ties."""

    lore: Lore
    digest: bytes
    edit: Edit = UNKNOWN

    @property
    def written_at(self) -> datetime:
        """When it was written: as its history says, else as the file does."""
        return self.edit.at or self.lore.updated_at


class Settled(NamedTuple):
    """A merged entry, the fields in which the sides differed, and the new elements of `conflicts`.

    `contested` says that it mattered which side won.
    """

    lore: Lore
    fields: tuple[str, ...]
    losses: tuple[Conflict, ...]
    contested: bool = False


def reference_time(clock: datetime, heads: Sequence[datetime]) -> datetime:
    """Return the time of a merge of two commits: the newest of their times that is plausible by this machine's clock.

    The clock only chooses, so that machines whose clocks are right get the same time whenever they merge;
    a commit dated over 24 hours ahead is left out. Where all are, it is the earliest.
    """
    believed = [head for head in heads if head <= _limit(clock)]
    return max(believed) if believed else min(heads)


def in_order(ours: Version, theirs: Version, now: datetime) -> tuple[Version, Version]:
    """Return the winner and the loser: by time, then digest; a time over 24 hours after `now` never wins."""
    ranks = [rank(version.written_at, version.digest, now) for version in (ours, theirs)]
    return (ours, theirs) if ranks[0] >= ranks[1] else (theirs, ours)


def rank(updated_at: datetime, digest: bytes, now: datetime) -> tuple[bool, datetime, bytes]:
    """Return the key by which the winner of two versions is the greater one."""
    return updated_at <= _limit(now), updated_at, digest


def merge(
    base: Lore | None,
    winner: Version,
    loser: Version,
    categories: Categories,
    now: datetime,
    lost: Sequence[Conflict] = (),
    tight: bool = False,
) -> Settled:
    """Merge two versions of one entry, in the order that `in_order` gave them.

    `lost` are losing versions of what is no field of an entry; they join `conflicts`. `tight` is for what does
    not fit into one file together: the winner's lists and text stay, those of the loser go into `conflicts`.
    """
    one, other = winner.lore, loser.lore
    before = base or Lore(one.id, "", "", one.created_at, one.updated_at, type="")
    losses = list(lost)
    found: dict[str, Any] = {}
    found["settled"], clashes = merge_settlements(before.settled, one.settled, other.settled)
    reopened = {clash.field: clash for clash in clashes}
    found |= _scalars(before, winner, loser, categories, losses, reopened)
    found |= _lists(before, winner, loser, losses, tight, reopened)
    found["content"] = _content(base, winner, loser, losses, tight, reopened.get("content"))
    found["merged_from"] = united(one.merged_from, other.merged_from)
    found["votes"] = _votes(before, one, other)
    found["created_at"] = min(one.created_at, other.created_at)
    found["updated_at"] = latest_of([one.updated_at, other.updated_at], now)
    # A file of format 2 has neither.
    validated = latest_of([one.last_validated, other.last_validated], now)
    found["last_validated"] = validated if found["votes"] else None
    conflicts = merge_conflicts(before.conflicts, one.conflicts, other.conflicts, losses)
    found["conflicts"] = unsettled(conflicts, found["settled"])
    fields = tuple([name for name in Lore._fields if getattr(one, name) != getattr(other, name)])
    new = new_conflicts(losses, (*one.conflicts, *other.conflicts), found["conflicts"])
    return Settled(one._replace(**found), fields, new, bool(losses))


def new_conflicts(
    losses: Iterable[Conflict], known: Iterable[Conflict], left: Iterable[Conflict]
) -> tuple[Conflict, ...]:
    """Return those of the losses that no side knew and that are left for a person."""
    before, after = {_key(entry) for entry in known}, {_key(entry) for entry in left}
    return tuple([entry for entry in sorted(losses) if _key(entry) in after - before])


def only_passing(before: Lore, after: Lore) -> bool:
    """Return whether a change is of votes and dates alone, so that a deletion on another clone stands."""
    same = {name: getattr(before, name) for name in PASSING}
    return after._replace(**same) == before


def loss(field: str, value: str, loser: Version, winner: Version) -> Conflict:
    """Return a value that lost, as an entry of `conflicts`."""
    return losing(field, value, loser.written_at, loser.edit, winner.edit)


def losing(
    field: str, value: str, written_at: datetime, loser: Edit = UNKNOWN, winner: Edit = UNKNOWN
) -> Conflict:
    """Return a value of a version that was written at this time, as an entry of `conflicts`."""
    at = "" if written_at == NEVER else times.render(written_at)
    return Conflict(field, value, loser.by, at, winner.by, times.render(winner.at) if winner.at else "")


def lost_file(field: str, text: str, loser: Edit, winner: Edit) -> Conflict:
    """Return a whole file that lost, deleted or unreadable, as an entry of `conflicts`."""
    return losing(field, text, loser.at or NEVER, loser, winner)


def merge_list(base: Sequence[Item], one: Sequence[Item], other: Sequence[Item]) -> tuple[Item, ...]:
    """Merge lists: what both sides have, and what one side added to the base.

    A change of one side alone stands as that side wrote it. Else what was in the base comes first, in its
    order, then what is new, sorted: so the order of merging does not show. For the same reason what somebody
    wrote twice is there once.
    """
    if tuple(one) == tuple(base) or tuple(one) == tuple(other):
        return tuple(dict.fromkeys(other))
    if tuple(other) == tuple(base):
        return tuple(dict.fromkeys(one))
    first, second, old = set(one), set(other), set(base)
    return _ordered(base, (first & second) | (first - old) | (second - old))


def united(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the union: the list that has all elements already, else sorted."""
    both = {*one, *other}
    complete = [tuple(side) for side in (one, other) if set(side) == both]
    return complete[0] if len(set(complete)) == 1 else tuple(sorted(both))


def merge_conflicts(
    base: Sequence[Conflict], one: Sequence[Conflict], other: Sequence[Conflict], losses: Iterable[Conflict]
) -> tuple[Conflict, ...]:
    """Merge `conflicts` by field and value, without those that one side resolved; new losses are always included."""
    new = {_key(entry): entry for entry in sorted(losses)}
    sides = [[_key(entry) for entry in side] for side in (base, one, other)]
    keys = list(merge_list(*sides))
    latest: dict[tuple[str, str], Conflict] = {}
    for entry in sorted([*one, *other, *new.values()], key=lambda entry: entry[2:]):
        latest[_key(entry)] = entry
    if new.keys() - set(keys):
        keys = list(_ordered(sides[0], {*keys, *new}))
    return tuple([latest[key] for key in dict.fromkeys(keys)])


def _scalars(
    base: Lore,
    winner: Version,
    loser: Version,
    categories: Categories,
    losses: list[Conflict],
    reopened: Mapping[str, Clash],
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, shown in _SCALARS.items():
        before, one, other = (
            _stated_type(lore, categories) if name == "type" else getattr(lore, name)
            for lore in (base, winner.lore, loser.lore)
        )
        clash = reopened.get(name)
        if clash is not None and one != other:
            found[name], left = (one, other) if clash.winner_is_later else (other, one)
            losses.append(_reopened(clash, shown(left)))
            continue
        found[name] = other if one == before else one
        if before != one != other != before:
            losses.append(loss(name, shown(other), loser, winner))
    # A type that follows from the category follows it to the merged one.
    found["type"] = found["type"] or categories.type_of(found["category"])
    return found


def _lists(
    base: Lore,
    winner: Version,
    loser: Version,
    losses: list[Conflict],
    tight: bool,
    reopened: Mapping[str, Clash],
) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for name, shown in _LISTS.items():
        before, one, other = (_items(lore, name) for lore in (base, winner.lore, loser.lore))
        clash = reopened.get(name)
        if clash is not None and one != other:
            found[name], left = (one, other) if clash.winner_is_later else (other, one)
            losses.append(_reopened(clash, "\n".join([shown(item) for item in left])))
            continue
        merged = merge_list(before, one, other)
        # One side's own list is never too long: only a union can be.
        if merged != one and (tight or (merged != other and len(merged) > _most(name))):
            merged = one
            losses.append(loss(name, "\n".join([shown(item) for item in other]), loser, winner))
        found[name] = merged
    return found


def _most(name: str) -> int:
    """Return how many items fit into a list field."""
    return MOST_MOMENTS if name == "when" else MAX_ITEMS


def _content(
    base: Lore | None,
    winner: Version,
    loser: Version,
    losses: list[Conflict],
    tight: bool,
    clash: Clash | None,
) -> str:
    one, other = winner.lore.content, loser.lore.content
    if one == other:
        return one
    most = limit_after(one, other)
    before = base.content if base else None
    swapped = clash is not None and not clash.winner_is_later
    if clash is not None:
        before = _without_settled(base, clash)
    if swapped:
        one, other = other, one
    merged, left = (one, other) if before is None else merge_versions(before, one, other)
    if (merged != one and tight) or not 0 < len(merged.strip()) <= most:
        merged, left = one, other
    elif not 0 < len(left.strip()) <= most:
        left = other
    if merged != left:
        lost = loss("content", left, loser, winner) if clash is None else _reopened(clash, left)
        losses.append(lost)
    return merged


def _without_settled(base: Lore | None, clash: Clash) -> str | None:
    """Return the base's text with a line of its own for each part that the settled conflict was about.

    Both sides differ from it there, so that the merge takes no side's decision for an edit of its own.
    """
    for conflict in base.conflicts if base else ():
        if conflict_key(conflict) == clash.winner.of:
            assert base is not None
            lines, others = base.content.split("\n"), conflict.value.split("\n")
            found: list[str] = []
            at = there = 0
            for mine, yours in [*common(lines, others), (len(lines), len(others))]:
                found += ["\0"] if (at, there) != (mine, yours) else []
                found += lines[mine : mine + 1]
                at, there = mine + 1, yours + 1
            return "\n".join(found)
    return None


def _reopened(clash: Clash, value: str) -> Conflict:
    """Return the value that the earlier of two settlements chose, as an entry of `conflicts`."""
    late, early = clash.winner, clash.loser
    if not clash.winner_is_later:
        late, early = early, late
    return Conflict(clash.field, value, early.by, early.at, late.by, late.at)


def _items(lore: Lore, name: str) -> tuple[Any, ...]:
    """Return a list field; the only source of an entry, which its file leaves out, is included."""
    if name == "sources" and not lore.sources and lore.source_id:
        return (lore.source_id,)
    found: tuple[Any, ...] = getattr(lore, name)
    return found


def _votes(before: Lore, one: Lore, other: Lore) -> dict[str, Vote]:
    """Return the accounts of format 1 of both; those that one side has moved to the ledger only where the other grew.

    A file that lost its frontmatter, and with it its id, has moved nothing.
    """
    has_moved = any(not side.votes and side.id == before.id for side in (one, other))
    moved = before.votes if has_moved else {}
    return {
        name: larger([side.votes[name] for side in (one, other) if name in side.votes])
        for name in sorted(one.votes.keys() | other.votes.keys())
        if any(side.votes[name] != moved.get(name) for side in (one, other) if name in side.votes)
    }


def _stated_type(lore: Lore, categories: Categories) -> str:
    """Return the type if it is not the default of the category: else two changes of a category would be two conflicts."""
    return "" if lore.type == categories.type_of(lore.category) else lore.type


def latest_of(moments: Iterable[datetime | None], now: datetime) -> datetime | None:
    """Return the latest moment; one more than 24 hours after `now` only if there is no other."""
    limit = _limit(now)
    return max([found for found in moments if found], key=lambda found: (found <= limit, found), default=None)


def _limit(now: datetime) -> datetime:
    """Return the last moment that is plausible for a clock at `now`."""
    try:
        return now + TRUSTED_AHEAD
    except OverflowError:
        return now


def _ordered(base: Iterable[Any], items: set[Any]) -> tuple[Any, ...]:
    kept = dict.fromkeys([item for item in base if item in items])
    return (*kept, *sorted(items - kept.keys()))


def _key(entry: Conflict) -> tuple[str, str]:
    return entry.field, entry.value


def _thousandths(value: int) -> str:
    return f"{'-' if value < 0 else ''}{abs(value) // 1000}.{abs(value) % 1000:03d}"


def _unset(value: Any) -> str:
    return "" if value is None else str(value)


_SCALARS: dict[str, Callable[[Any], str]] = {
    "category": str,
    "type": str,
    "status": str,
    "prior": _thousandths,
    "importance": _unset,
    "pinned": lambda value: "true" if value else "false",
    "expires_at": lambda value: times.render(value) if value else "",
    "agent": str,
    "author": str,
    "source_id": str,
}
_LISTS: dict[str, Callable[[Any], str]] = {
    "context": str,
    "tags": str,
    "files": str,
    "entities": str,
    "when": str,
    "sources": str,
    "relations": " ".join,
}
