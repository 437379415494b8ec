"""The input of consolidation: a store's active entries, their use on this machine, and their links."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engram.domain.entry import ulid
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall.usage import usage_of
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import without_quarantined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

_ID = re.compile(rb"[0-9A-HJKMNP-TV-Z]{26}")
_IMPORTED = b"Imported from "
_RELATION = re.compile(rb"kind: *\"?([a-z_]+)\"?, *id: *\"?([0-9A-Z]{26})")


class Survey:
    """The state of a store that proposals are made from.

    `hits` has the active entries by id, without quarantined ones, `digests` those of their files. `planned` collects the
    ids that steps are about, as each entry is in one step at most.
    """

    def __init__(self, store: Store, generation: Generation, *, adopted: bool = False) -> None:
        """Read the catalog and the activity log; files are read on demand.

        With `adopted`, entries without an id in their file are left out: nobody asked Engram to write them.
        """
        self.store = store
        self.generation = generation
        self.now = store.clock.now()
        self.usage = usage_of(store)
        active = generation.catalog.select(
            "status = 'active' AND adopted >= ?", [int(adopted)], "ORDER BY id"
        )
        self.hits: dict[str, Hit] = {hit.id: hit for hit in without_quarantined(store, active)}
        self.digests = {text.id: text.digest for text in generation.catalog.texts((ACTIVE, PENDING))}
        self.planned: set[str] = set()
        self._read: dict[str, bytes] = {}
        self._raw: dict[str, bytes] | None = None
        self._links: Mapping[str, Sequence[tuple[str, str]]] | None = None

    def read(self, path: str) -> bytes:
        """Read the bytes of a file, cached. Raises NotFoundError, StoreError."""
        found = self._read.get(path)
        if found is None:
            found = self._read[path] = self.store.files.read(path)
        return found

    @property
    def raw(self) -> Mapping[str, bytes]:
        """The bytes of the files of active entries, by id; unreadable files are left out."""
        if self._raw is None:
            self._raw = {}
            for hit in self.hits.values():
                try:
                    self._raw[hit.id] = self.read(hit.path)
                except EngramError:
                    continue
        return self._raw

    @property
    def links(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The incoming relations of each entry: its id → (kind, id of the active entry that has the relation)."""
        if self._links is None:
            found: dict[str, list[tuple[str, str]]] = {}
            for lore_id, raw in self.raw.items():
                if b"relations:" in raw:
                    for kind, other in self._relations(lore_id, raw):
                        found.setdefault(other, []).append((kind, lore_id))
            self._links = found
        return self._links

    def linked_by(self, lore_id: str) -> set[str]:
        """Return the entries with a relation to this one, except other parts of the same imported document."""
        context = _line(self.raw.get(lore_id, b""), b"context:")
        return {
            other
            for _, other in self.links.get(lore_id, ())
            if _IMPORTED not in context or _line(self.raw.get(other, b""), b"context:") != context
        }

    def file(self, lore_id: str) -> LoreFile | None:
        """Load the file of an entry; None if it cannot be read or differs from the catalog."""
        file = entry_writer.load_readable(self.store, self.hits[lore_id].path)
        return file if file and file.lore.id == lore_id and file.lore.status == ACTIVE else None

    def uses(self, *lore_ids: str) -> list[datetime]:
        """Return when these entries, or those merged into them, were used here, and when the merged ones were recorded."""
        merged = [merged_id for lore_id in lore_ids for merged_id in self._merged_ids(lore_id)]
        stamps = [at for lore_id in (*lore_ids, *merged) for at in self.usage.used.get(lore_id, ())]
        return [datetime.fromtimestamp(at, UTC) for at in stamps] + [
            ulid.moment(lore_id) for lore_id in merged
        ]

    def _merged_ids(self, lore_id: str) -> Sequence[str]:
        line = _line(self.raw.get(lore_id, b""), b"merged_from:")
        if line.endswith(b"]") or not line:
            return [found.decode() for found in _ID.findall(line)]
        file = self.file(lore_id)
        return file.lore.merged_from if file else ()

    def _relations(self, lore_id: str, raw: bytes) -> list[tuple[str, str]]:
        """Read the relations of a file, which is parsed only if it is not formatted as Engram does."""
        line = _line(raw, b"relations:")
        if line.endswith(b"]"):
            return [(kind.decode(), other.decode()) for kind, other in _RELATION.findall(line)]
        file = self.file(lore_id) if line else None
        return [(link.kind, link.id) for link in file.lore.relations] if file else []


def _line(raw: bytes, key: bytes) -> bytes:
    """Return the front matter line that begins with `key`; empty if there is none."""
    start = raw.find(b"\n" + key)
    return raw[start + 1 :].partition(b"\n")[0].rstrip() if 0 <= start < raw.find(b"\n---") else b""
