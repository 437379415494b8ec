"""Quarantined entries: list, accept or reject them."""

from __future__ import annotations

import json

from engram.domain.admission import trust
from engram.domain.entry.lore import ACTIVE, Lore, searchable, text_digest
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.resolve import resolve
from engram.usecases.recording.edit import Edit, edit
from engram.usecases.recording.forget import forget
from engram.usecases.store import entry_writer, people
from engram.usecases.store.signature_state import signatures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.state.trust_tables import QuarantinedText
    from engram.domain.admission.trust import Signature
    from engram.usecases.store.store import Store


class QuarantinedEntry(NamedTuple):
    """A quarantined entry: its path, the commit that brought its text ("" unknown) and its signature, the reason.

    `at` is when it was quarantined, in Unix seconds.
    """

    lore: Lore
    path: str
    commit: str
    signature: Signature | None
    why: str
    at: float


def list_quarantined(store: Store) -> list[QuarantinedEntry]:
    """List quarantined entries, latest first. Raises StoreError."""
    with store.lock:
        pairs = _quarantined_hits(store)
    known = signatures_of(store, [row.commit for row, _ in pairs if row.commit])
    found = []
    for row, hit in pairs:
        file = entry_writer.load_readable(store, hit.path)
        if file is not None:
            [lore] = people.with_authors(store, [file.lore])
            found.append(QuarantinedEntry(lore, hit.path, row.commit, known.get(row.commit), row.why, row.at))
    return found


def count_quarantined(store: Store) -> int:
    """Count quarantined entries without reading their files."""
    return len(_quarantined_hits(store))


def accept(store: Store, names: Sequence[str], *, everything: bool = False) -> list[QuarantinedEntry]:
    """Release entries with their present text. Raises NotFoundError for one that is not in quarantine."""
    chosen = _select_entries(store, names, everything)
    store.state.trust.release((entry.lore.id, text_digest(searchable(entry.lore))) for entry in chosen)
    for entry in chosen:
        credit.confirm(store, entry.lore)
    return chosen


def reject(
    store: Store, names: Sequence[str], *, everything: bool = False, delete: bool = False
) -> list[QuarantinedEntry]:
    """Archive or delete quarantined entries; the next sync does so for everyone. Raises as `accept`, and StoreError."""
    chosen = _select_entries(store, names, everything)
    if delete:
        forget(store, [entry.lore.id for entry in chosen])
        return chosen
    for entry in chosen:
        edit(store, entry.lore.id, Edit(status="archived"))
    return chosen


def _select_entries(store: Store, names: Sequence[str], everything: bool) -> list[QuarantinedEntry]:
    if everything == bool(names):
        raise UsageError("Name entries, or choose all of them.", "To list them: engram trust list")
    waiting = {one.lore.id: one for one in list_quarantined(store)}
    if everything:
        return list(waiting.values())
    ids = []
    for name in names:
        with store.lock:
            lore_id = resolve(store, name).id
        if lore_id not in waiting:
            raise NotFoundError(
                f"{lore_id} is not in quarantine.", "`engram trust list` shows the entries that are."
            )
        ids.append(lore_id)
    return [waiting[lore_id] for lore_id in dict.fromkeys(ids)]


def _quarantined_hits(store: Store) -> list[tuple[QuarantinedText, Hit]]:
    """Return quarantined rows with their hits: active entries that still have the quarantined text."""
    if store.settings.text("trust.hold") == trust.NONE:
        return []
    rows = store.state.trust.rows()
    if not rows:
        return []
    wanted = json.dumps(sorted({row.id for row in rows}))
    query = "status = ? AND id IN (SELECT value FROM json_each(?))"
    found = query_index(store, lambda generation: generation.catalog.select(query, [ACTIVE, wanted]))
    hits = {(hit.id, hit.text_digest): hit for hit in found}
    return [(row, hits[row.id, row.digest]) for row in rows if (row.id, row.digest) in hits]
