"""A vote for a lore that was folded into another meanwhile goes to that other one, and is counted once.

One side folded the lore away, the other side, which did not know, voted for it. The lore stays gone, but
what was said of it was said of what it now is part of.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import codec
from engram.domain import sync_plan
from engram.domain.errors import LoreFileError
from engram.domain.fold import carried
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.codec import LoreFile
    from engram.adapters.git.differences import Difference
    from engram.adapters.git.tree import Entry
    from engram.domain.lore import Lore
    from engram.usecases.tree_merge import Reader, Rules, Tree

    Changed = Mapping[str, Difference]


class Gone(NamedTuple):
    """A lore that the merge leaves deleted: its path, its bytes on the side that changed it, and what the other side changed."""

    path: str
    raw: bytes
    deleted_by: Changed


def carry_votes(
    rules: Rules, read: Reader, gone: Sequence[Gone], first: Changed, made: Tree
) -> dict[str, tuple[Entry, bytes]]:
    """The lore that take over votes, by path: their entry in the merged tree so far, and their new bytes.

    The merged tree is that of the side that changed `first`, with the edits of `made`.
    """
    found: dict[str, tuple[Entry, bytes]] = {}
    for item in gone:
        lost = _read(rules, item.path, item.raw)
        host = lost and _host(rules, read, lost.lore.id, item.deleted_by)
        if not (lost and host):
            continue
        entry = made.edits[host] if host in made.edits else first[host].after
        if entry is None:
            continue
        raw = found[host][1] if host in found else made.contents.get(host) or read([entry.oid])[entry.oid]
        file = _read(rules, host, raw)
        if file is not None:
            found[host] = (entry, codec.rewrite(file, _with(file.lore, lost.lore), rules.categories))
    return found


def _host(rules: Rules, read: Reader, lore_id: str, changed: Changed) -> str:
    """The lore among `changed` that says it took in `lore_id`; "" if none does."""
    paths = [path for path in sorted(changed) if sync_plan.is_lore(path, rules.folder)]
    entries = {
        path: entry for path in paths if (entry := changed[path].after) and entry.mode in sync_plan.REGULAR
    }
    held = read(entry.oid for entry in entries.values())
    for path, entry in entries.items():
        raw = held[entry.oid]
        file = _read(rules, path, raw) if lore_id.encode() in raw else None
        if file is not None and lore_id in file.lore.merged_from:
            return path
    return ""


def _with(host: Lore, lost: Lore) -> Lore:
    stamps = [stamp for stamp in (host.last_validated, lost.last_validated) if stamp is not None]
    return host._replace(
        votes=carried(host.votes, lost.votes, lost.id),
        last_validated=max(stamps, default=None),
        updated_at=max(host.updated_at, lost.updated_at),
    )


def _read(rules: Rules, path: str, raw: bytes) -> LoreFile | None:
    try:
        return codec.read(raw, path, rules.categories, datetime.fromtimestamp(0, UTC))
    except LoreFileError:
        return None
