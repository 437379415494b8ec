"""A vote for a lore that was folded into another meanwhile goes to that other one, and is counted once.

One side folded the lore away, the other side, which did not know, voted for it. The lore stays gone, but
what was said of it was said of what it now is part of.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files import codec
from engram.adapters.git.differences import blobs
from engram.domain import sync_plan
from engram.domain.errors import LoreFileError
from engram.domain.fold import carried
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.codec import LoreFile
    from engram.adapters.git.differences import Difference
    from engram.adapters.git.layout import Repository
    from engram.adapters.git.tree import Entry
    from engram.domain.lore import Lore
    from engram.usecases.store import Store

    Side = Mapping[str, Difference]


class Gone(NamedTuple):
    """A lore that the merge leaves deleted: its path, its bytes on the side that changed it, and what the other side changed."""

    path: str
    raw: bytes
    deleted_by: Side


def carry_votes(
    store: Store,
    gone: Sequence[Gone],
    first: Side,
    edits: Mapping[str, Entry | None],
    contents: Mapping[str, bytes],
) -> dict[str, tuple[Entry, bytes]]:
    """The lore that take over votes, by path: their entry in the merged tree so far, and their new bytes.

    The merged tree is that of the parent with the changes `first`, with `edits`, of which `contents` has the bytes.
    """
    assert store.places.repository is not None
    repo = store.places.repository
    found: dict[str, tuple[Entry, bytes]] = {}
    for item in gone:
        lost = _read(store, item.path, item.raw)
        host = lost and _host(store, repo, lost.lore.id, item.deleted_by)
        if not (lost and host):
            continue
        entry = edits[host] if host in edits else first[host].after
        if entry is None:
            continue
        raw = found[host][1] if host in found else contents.get(host) or blobs(repo, [entry.oid])[entry.oid]
        file = _read(store, host, raw)
        if file is not None:
            found[host] = (entry, codec.rewrite(file, _with(file.lore, lost.lore), store.categories))
    return found


def _host(store: Store, repo: Repository, lore_id: str, changed: Side) -> str:
    """The lore among `changed` that says it took in `lore_id`; "" if none does."""
    paths = [path for path in sorted(changed) if sync_plan.is_lore(path, store.places.folder)]
    entries = {
        path: entry for path in paths if (entry := changed[path].after) and entry.mode in sync_plan.REGULAR
    }
    held = blobs(repo, (entry.oid for entry in entries.values()))
    for path, entry in entries.items():
        file = _read(store, path, held[entry.oid]) if lore_id.encode() in held[entry.oid] else None
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


def _read(store: Store, path: str, raw: bytes) -> LoreFile | None:
    try:
        return codec.read(raw, path, store.categories, datetime.fromtimestamp(0, UTC))
    except LoreFileError:
        return None
