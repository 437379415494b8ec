"""The entry as a person edited it during a review decision: which fields count, and no secrets."""

from __future__ import annotations

from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

FIELDS = (
    "content", "category", "type", "status", "context", "tags", "files", "entities", "relations", "importance", "pinned",
    "when", "expires_at", "agent", "source_id", "sources", "prior",
)  # fmt: skip


def apply_result(
    wanted: Mapping[str, Lore | None], result: Lore, before: Mapping[str, Lore]
) -> dict[str, Lore | None]:
    """Return the entries that a decision writes, by id, with the fields of `result` in the entry of its id.

    `before` are the entries that the decision is about. Raises UsageError if the decision does not keep that entry.
    """
    kept = wanted.get(result.id, before.get(result.id))
    if kept is None:
        raise UsageError(
            f"{result.id} is not kept by this decision.", "Give the text of the entry that is kept."
        )
    fields = {name: getattr(result, name) for name in FIELDS}
    return {**wanted, result.id: kept._replace(**fields)}


def refuse_secrets(store: Store, lore: Lore) -> None:
    """Raise SecretFoundError if a text of the entry has a secret."""
    texts = (lore.content, *lore.context, *lore.tags, *lore.files, *lore.entities, *lore.when)
    entry_writer.refuse_secrets(store, "the edited entry", *texts)
