"""The codec of entity files: bytes to an entity and back, and the smallest edit of an existing file."""

from __future__ import annotations

from functools import partial

from engram.adapters.files.frontmatter import edit, entity_fields, frontmatter, keys
from engram.adapters.files.frontmatter.codec import apply_edit
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.frontmatter.named_file import FileContents, Kind
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.graph.entity import Entity
from engram.domain.graph.entity_rules import DEFAULT_TYPE, check, is_slug, slug_of
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Document, KeyEntry


def read(raw: bytes, path: str) -> FileContents:
    """Read an entity's file at `path`. Raises LoreFileError, which names the line, and nothing else."""
    return _parse(raw, path)[-1]


def write_new(entity: Entity, updated_at: datetime | None) -> bytes:
    """Return the canonical file of an entity. Raises ValidationError if no file can hold it."""
    return rewrite(b"", f"{entity.slug}.md", FileContents(entity, updated_at, ()))


def rewrite(raw: bytes, path: str, wanted: FileContents, *, keeps_metadata: bool = False) -> bytes:
    """Return the file edited to hold `wanted`: only the lines of values that differ change.

    With `keeps_metadata` the metadata in the file stay, whatever those of `wanted`. Raises LoreFileError, ValidationError.
    """
    document, entries, current, file = _parse(raw, path)
    before = file.record
    entity: Entity = wanted.record._replace(metadata=before.metadata) if keeps_metadata else wanted.record
    if raw and (entity, *wanted[1:]) == file:
        return raw
    check(entity)
    if frontmatter.conflict_marker(entity.content) >= 0:
        message = "The text has a line that begins like a conflict marker of git."
        raise ValidationError("text", message, "Indent that line by a space.")
    names = entity_fields.keys_with(before, entity)
    own = {**entity._asdict(), **wanted._asdict()}
    values = {
        **dict.fromkeys(names),  # None: metadata to remove
        **dict(entity.metadata),
        **{key: own[key] for key in entity_fields.KEYS},
    }
    left_out = {**dict.fromkeys(names), "aliases": (), "relationships": (), "conflicts": ()}
    implied = {**left_out, "name": before.name, "type": DEFAULT_TYPE} if raw else left_out
    content = None if entity.content == before.content else entity.content
    form = edit.Form(names, entity_fields.lines)
    return apply_edit(document, entries, edit.Values(current, values, implied, left_out), form, content)


def _parse(raw: bytes, path: str) -> tuple[Document, list[KeyEntry], dict[str, Any], FileContents]:
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        values = entity_fields.parse(entries)
        entity = _build_entity(path, document, values)
        _check(entity, document, entries)
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None
    file = FileContents(entity, values.get("updated_at"), values.get("conflicts", ()))
    return document, entries, values, file


def _build_entity(path: str, document: Document, values: dict[str, Any]) -> Entity:
    stem = path.rpartition("/")[2].removesuffix(".md")
    own = {key: value for key, value in values.items() if key not in entity_fields.KEYS}
    return Entity(
        stem if is_slug(stem) else slug_of(stem),
        values.get("name") or stem,
        values.get("type") or DEFAULT_TYPE,
        values.get("aliases", ()),
        values.get("relationships", ()),
        tuple(own.items()),
        frontmatter.normalise(document.body),
    )


def _check(entity: Entity, document: Document, entries: list[KeyEntry]) -> None:
    """Raise Problem, with the line of the field, if an entity breaks a rule."""
    try:
        check(entity)
    except ValidationError as error:
        lines = [entry.line for entry in entries if entry.key == error.field]
        line = lines[0] if lines else document.body_line
        message = error.message[:1].lower() + error.message[1:].rstrip(".")
        raise Problem(line, message, error.hint or "Correct the line.") from None


KIND = Kind(read, partial(rewrite, keeps_metadata=True), entity_fields.RANKS)
