"""Lines of this clone's own ledgers that cannot be read: finding them, and leaving them out with a copy kept."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.domain.judgements import ledger
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def find_damaged(store: Store) -> list[str]:
    """Return the files (absolute) of this clone's ledgers that have lines which cannot be read. Raises StoreError."""
    source = store.known_source_id
    return [
        os.path.join(store.ledgers.folder, *path.split("/"))
        for path in (sorted(store.ledgers.stamps((f"{source[10:12]}/{source}",))) if source else [])
        if any(_is_damaged(line, source) for line in store.ledgers.read(path).split(b"\n"))
    ]


def mend(store: Store, file: str) -> None:
    """Copy a damaged ledger to `….damaged`, and leave the lines in it that can be read. Raises StoreError."""
    source = store.source_id

    def readable(raw: bytes) -> bytes:
        atomic.write(f"{file}.damaged", raw, "judgements", 0o600)
        return b"\n".join(line for line in raw.split(b"\n") if not _is_damaged(line, source))

    store.ledgers.change(os.path.relpath(file, store.ledgers.folder), readable)


def _is_damaged(line: bytes, source: str) -> bool:
    """Return whether a line cannot be read, and is not the beginning of one whose writer was killed: that never counted."""
    half_written = line.startswith(b'{"id":"') and not line.rstrip().endswith(b"}")
    return not half_written and ledger.parse(line, source).malformed > 0
