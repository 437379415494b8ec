"""Find unreadable lines in this clone's own ledgers, and remove them after keeping a copy."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.domain.judgements import ledger
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def find_damaged(store: Store) -> list[str]:
    """Return the absolute paths of this clone's ledgers that have unreadable lines. Raises StoreError."""
    source = store.known_source_id
    return [
        os.path.join(store.ledgers.folder, *path.split("/"))
        for path in (sorted(store.ledgers.stamps((f"{source[10:12]}/{source}",))) if source else [])
        if any(_is_damaged(line, source) for line in store.ledgers.read(path).split(b"\n"))
    ]


def mend(store: Store, file: str) -> None:
    """Copy a damaged ledger to `….damaged`, then keep only its readable lines. Raises StoreError."""
    source = store.source_id

    def drop_damaged(raw: bytes) -> bytes:
        atomic.write(f"{file}.damaged", raw, "judgements", 0o600)
        return b"\n".join(line for line in raw.split(b"\n") if not _is_damaged(line, source))

    store.ledgers.change(os.path.relpath(file, store.ledgers.folder), drop_damaged)


def _is_damaged(line: bytes, source: str) -> bool:
    """Return whether a line is unreadable; the start of a line whose writer was killed never counted, so it is not."""
    half_written = line.startswith(b'{"id":"') and not line.rstrip().endswith(b"}")
    return not half_written and ledger.parse(line, source).malformed > 0
