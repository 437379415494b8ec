"""Settle the conflicts of an entry: keep the current version, take the one that lost, or keep both."""

from __future__ import annotations

from engram.adapters.files.frontmatter.fields import thousandths_of
from engram.domain.entry import times
from engram.domain.entry.categories import Categories, parse_types
from engram.domain.entry.disputes import DELETED
from engram.domain.entry.lore import MAX_CONTENT, Conflict, Lore, Settlement
from engram.domain.errors import UsageError
from engram.domain.merge.settlements import KEPT, OTHER, conflict_key, latest, short_digest
from engram.domain.merge.text_merge import common
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import people

if TYPE_CHECKING:
    from typing import Any

    from engram.usecases.store.store import Store

_LISTS = ("tags", "files", "entities", "context", "when", "sources")
_TEXTS = ("content", "status", "agent", "source_id")


def take_version(lore: Lore, categories: Categories) -> Lore | None:
    """Return the entry with the versions of its `conflicts` in place of the current ones; None if that is a deletion.

    Of several versions of a field the latest is taken. Raises UsageError for a field that only an editor can settle.
    """
    versions = _latest_versions(lore)
    if DELETED in versions:
        return None
    for entry in versions.values():
        lore = _apply_version(lore, entry, categories)
    return lore._replace(conflicts=())


def join_versions(lore: Lore) -> Lore:
    """Return the entry with the current version and, where they differ, the latest losing version after it.

    Raises UsageError for a field that can have only one version, or if both are too long together.
    """
    for name, entry in _latest_versions(lore).items():
        if name == "content":
            lore = lore._replace(content=_join_lines(lore.content, entry.value))
        elif name in _LISTS:
            joined: dict[str, Any] = {
                name: tuple(dict.fromkeys([*getattr(lore, name), *entry.value.split("\n")]))
            }
            lore = lore._replace(**joined)
        else:
            raise UsageError(
                f"Only one version of '{name}' can be kept.",
                "`accept` keeps the current version, `take` the other.",
            )
    if len(lore.content) > MAX_CONTENT:
        raise UsageError(
            "Both versions together are too long for one entry.", "Write the text to keep: --content TEXT."
        )
    return lore._replace(conflicts=())


def choose_side(store: Store, lore: Lore, *, mine: bool) -> str:
    """Return which version is that of the person here (`mine`) or that of the other person: KEPT or OTHER.

    Raises UsageError if the names of the versions do not tell.
    """
    me, names = (
        own_commit_name(store),
        {(conflict.kept_source, conflict.source) for conflict in lore.conflicts},
    )
    if me and all(me == kept != other for kept, other in names):
        return KEPT if mine else OTHER
    if me and all(kept != other == me for kept, other in names):
        return OTHER if mine else KEPT
    raise UsageError(
        f"No version can be attributed to {me or 'a person without a name in git'}.",
        "`accept` keeps the current version, `take` the other.",
    )


def own_commit_name(store: Store) -> str:
    """Return the name of the person here, as in their commits; "" outside git."""
    from engram.adapters.git.run import configuration

    return people.own_name(store) or configuration.NAME if store.places.repository else ""


def settle_conflicts(store: Store, before: Lore, after: Lore, chose: str, written: str = "") -> Lore:
    """Return `after` with a settlement in place of each conflict of `before`.

    `chose` is KEPT, OTHER or BOTH; `written` is the text if a person wrote another one.
    """
    stamp = times.render(times.after(store.clock.now(), before.updated_at))
    name, taken = own_commit_name(store), set(_latest_versions(before).values())
    settled = [
        Settlement(
            conflict_key(conflict),
            short_digest(written)
            if written and conflict.field == "content"
            else chose
            if conflict in taken
            else KEPT,
            name,
            max(stamp, conflict.at),  # whose clock may have been ahead
        )
        for conflict in before.conflicts
    ]
    return after._replace(conflicts=(), settled=latest([*after.settled, *settled]))


def _latest_versions(lore: Lore) -> dict[str, Conflict]:
    return {entry.field: entry for entry in sorted(lore.conflicts, key=lambda entry: entry.at)}


def _join_lines(one: str, other: str) -> str:
    """Return the lines of both texts in order; where they differ, those of the first come first."""
    mine, yours = one.split("\n"), other.split("\n")
    joined: list[str] = []
    start = other_start = 0
    for end, other_end in [*common(mine, yours), (len(mine), len(yours))]:
        joined += [*mine[start:end], *yours[other_start:other_end], *mine[end : end + 1]]
        start, other_start = end + 1, other_end + 1
    return "\n".join(joined)


def _apply_version(lore: Lore, entry: Conflict, categories: Categories) -> Lore:
    name, value = entry.field, entry.value
    plain: dict[str, Any] = {}
    if name in _TEXTS:
        plain[name] = value
    if name in _LISTS:
        plain[name] = tuple(value.split("\n")) if value else ()
    if plain:
        return lore._replace(**plain)
    if name == "category":
        category = categories.parse(value)
        return lore._replace(category=category, type=categories.type_of(category))
    if name == "type":
        return lore._replace(type=parse_types([value])[0] if value else categories.type_of(lore.category))
    if name == "prior" and (prior := thousandths_of(value)) is not None:
        return lore._replace(prior=prior)
    if name == "pinned":
        return lore._replace(pinned=value == "true")
    if name == "importance":
        return lore._replace(importance=float(value) if value else None)
    if name == "expires_at":
        return lore._replace(expires_at=times.parse(value) if value else None)
    raise UsageError(
        f"The other version of '{name}' cannot be applied on its own.",
        f"Resolve it in your editor: engram edit {lore.id}",
    )
