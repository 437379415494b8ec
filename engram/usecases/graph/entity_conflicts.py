"""Entities with merge conflicts: find them for the review queue, and resolve them as a person decides."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import entity_file
from engram.domain.errors import EngramError, LoreFileError, ValidationError
from engram.domain.merge.entity_versions import take_version
from engram.domain.review import review
from engram.domain.review.review import Item, describe_conflicts, item_id
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import load, read_entities
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.named_file import FileContents
    from engram.adapters.index.index import Generation
    from engram.domain.graph.entity import Entity
    from engram.usecases.store.store import Store


def find_entity_conflicts(store: Store, _generation: Generation) -> list[Item]:
    """Find entities with a version that lost a merge."""
    return [
        item for problem in read_entities(store).conflicts if (item := _item(store, problem.path)) is not None
    ]


def preview_decision(store: Store, item: Item, decision: str) -> dict[str, Entity | None]:
    """Return the entity as a decision would leave it, by slug (None: deleted). Raises UsageError, StoreError, LoreFileError."""
    _, file = load(store, item.paths[0])
    return {file.record.slug: _apply_decision(file, decision)}


def apply_decision(store: Store, item: Item, decision: str) -> dict[str, Entity | None]:
    """Carry out a decision as one commit. As `preview_decision`, but also raises ConflictError if the file changed."""
    path = item.paths[0]
    raw, file = load(store, path)
    entity = _apply_decision(file, decision)
    resolved = file.changed(entity, store.clock.now())._replace(conflicts=())
    content = None if entity is None else entity_file.rewrite(raw, path, resolved)
    change = Change(path, content, atomic.digest(raw))
    trailers = [("Engram-Entity", file.record.slug), ("Engram-Decision", f"{item.kind} {decision}")]
    subject = f"review: {decision} {item.kind}: {item.title}"
    entry_writer.write(store, [entry_writer.operation(store, subject, [change], trailers)])
    return {file.record.slug: entity}


def rewrite(store: Store, path: str, before: bytes, after: bytes) -> Entity:
    """Replace an entity's file with an edited text, if the file is still `before`.

    Raises ValidationError if the text is not an entity, ConflictError, SecretFoundError.
    """
    try:
        file = entity_file.read(after, path)
        entity: Entity = file.record
    except LoreFileError as error:
        where = f"line {error.line}: " if error.line else ""
        message = f"The edited text is not an entity: {where}{error.reason}."
        raise ValidationError("file", message, error.hint) from None
    entry_writer.refuse_secrets(store, "the edited entity", after.decode())
    with store.lock:
        content = entity_file.rewrite(after, path, file.changed(entity, store.clock.now()))
        change = Change(path, content, atomic.digest(before))
        subject = f"edit: {entity.name}"
        entry_writer.write(
            store, [entry_writer.operation(store, subject, [change], [("Engram-Entity", entity.slug)])]
        )
    return entity


def _item(store: Store, path: str) -> Item | None:
    try:
        raw, file = load(store, path)
    except EngramError:
        return None
    why, evidence = describe_conflicts(file.conflicts)
    return Item(
        item_id(review.ENTITY, [path]), review.ENTITY, (), (path,), file.record.name, why, review.ACCEPT, evidence,
        mark=atomic.digest(raw),
    )  # fmt: skip


def _apply_decision(file: FileContents, decision: str) -> Entity | None:
    return take_version(file.record, file.conflicts) if decision == review.TAKE else file.record
