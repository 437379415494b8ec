"""The codec of entity files: bytes to an entity and back, and the smallest edit of a file that a person wrote."""

from __future__ import annotations

from engram.adapters.files.frontmatter import edit, entity_fields, frontmatter, keys
from engram.adapters.files.frontmatter.codec import edited, encode
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.frontmatter.named_file import FileContents, Kind
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.graph.entity import Entity
from engram.domain.graph.entity_rules import DEFAULT_TYPE, check, is_slug, slug_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Document, Entry
    from engram.domain.entry.lore import Conflict


class EntityFile(NamedTuple):
    """An entity, the bytes of its file, and what is there for merging: when it last changed, versions that lost."""

    entity: Entity
    raw: bytes
    updated_at: datetime | None = None
    conflicts: tuple[Conflict, ...] = ()


def read(raw: bytes, path: str) -> EntityFile:
    """Read an entity's file at `path`. Raises LoreFileError with the line and what to do; nothing else."""
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        values = entity_fields.parse(entries)
        entity = _entity(path, document, values)
        _check(entity, document, entries)
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None
    return EntityFile(entity, raw, values.get("updated_at"), values.get("conflicts", ()))


def write_new(entity: Entity, updated_at: datetime | None, conflicts: tuple[Conflict, ...] = ()) -> bytes:
    """Return the canonical file of an entity. Raises ValidationError where no file can say it."""
    _check_writable(entity)
    wanted = _file_values(entity, updated_at, conflicts)
    left_out = _omitted_values(wanted)
    lines: list[str] = []
    for key in entity_fields.keys_with(entity):
        if wanted[key] != left_out[key]:
            lines += entity_fields.lines(key, wanted[key])
    body = f"\n{entity.content}\n" if entity.content else ""
    return encode("\n".join(lines) + "\n", "---\n", "---\n" + body)


def rewrite(
    file: EntityFile,
    entity: Entity,
    updated_at: datetime | None,
    conflicts: tuple[Conflict, ...] | None = None,
) -> bytes:
    """Return the file edited to say `entity`: only the lines of what differs change. Raises ValidationError."""
    kept = file.conflicts if conflicts is None else conflicts
    if (entity, updated_at, kept) == (file.entity, file.updated_at, file.conflicts):
        return file.raw
    _check_writable(entity)
    document, entries = keys.load(frontmatter.decode(file.raw))
    values = entity_fields.parse(entries)
    wanted = _file_values(entity, updated_at, kept)
    names = entity_fields.keys_with(file.entity, entity)
    for key in names:
        wanted.setdefault(key, None)  # metadata that is to go
    left_out = _omitted_values(wanted)
    implied = {**left_out, "name": file.entity.name, "type": DEFAULT_TYPE}
    content = None if entity.content == file.entity.content else entity.content
    form = edit.Form(names, entity_fields.lines)
    return edited(document, entries, edit.Values(values, wanted, implied, left_out), form, content)


def _entity(path: str, document: Document, values: dict[str, Any]) -> Entity:
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


def _check(entity: Entity, document: Document, entries: list[Entry]) -> None:
    """The rules of every entity, told with the line of the field that breaks one."""
    try:
        check(entity)
    except ValidationError as error:
        lines = [entry.line for entry in entries if entry.key == error.field]
        line = lines[0] if lines else document.body_line
        message = error.message[:1].lower() + error.message[1:].rstrip(".")
        raise Problem(line, message, error.hint or "Correct the line.") from None


def _check_writable(entity: Entity) -> None:
    check(entity)
    if frontmatter.conflict_marker(entity.content) >= 0:
        message = "The text has a line that begins like a conflict marker of git."
        raise ValidationError("text", message, "Indent that line by a space.")


def _file_values(
    entity: Entity, updated_at: datetime | None, conflicts: tuple[Conflict, ...]
) -> dict[str, Any]:
    return {
        **dict(entity.metadata),
        "name": entity.name,
        "type": entity.type,
        "aliases": entity.aliases,
        "relationships": entity.relationships,
        "updated_at": updated_at,
        "conflicts": conflicts,
    }


def _omitted_values(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what the codec does not write."""
    lists: dict[str, Any] = dict.fromkeys(("aliases", "relationships", "conflicts"), ())
    return {**dict.fromkeys(wanted), **lists}


def _parse_contents(raw: bytes, path: str) -> FileContents:
    file = read(raw, path)
    return FileContents(file.entity, file.updated_at, file.conflicts)


def _rewrite(raw: bytes, path: str, wanted: FileContents) -> bytes:
    file = read(raw, path)
    entity = wanted.record._replace(metadata=file.entity.metadata)
    return rewrite(file, entity, wanted.updated_at, wanted.conflicts)


KIND = Kind(_parse_contents, _rewrite, entity_fields.RANKS)
