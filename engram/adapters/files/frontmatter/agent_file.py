"""The codec of agents' files: bytes to a profile and back, and the smallest edit of an existing file."""

from __future__ import annotations

from engram.adapters.files.frontmatter import edit, fields, frontmatter, keys
from engram.adapters.files.frontmatter.codec import apply_edit
from engram.adapters.files.frontmatter.fields import ExpectedError
from engram.adapters.files.frontmatter.frontmatter import Problem, scalar
from engram.adapters.files.frontmatter.named_file import FileContents, Kind
from engram.domain.entry.named_files import file_name
from engram.domain.errors import LoreFileError
from engram.domain.graph.team import AgentProfile
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Value


def read(raw: bytes, path: str) -> FileContents:
    """Read the profile in an agent's file at `path`. Raises LoreFileError, which names the line."""
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        values = fields.parse_by(_READERS, entries)
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None
    agent_id = file_name(path)
    profile = AgentProfile(
        agent_id,
        values.get("name") or agent_id,
        values.get("capabilities", ()),
        values.get("default_scope", ""),
        values.get("settings", ()),
        frontmatter.normalise(document.body),
    )
    return FileContents(profile, values.get("updated_at"), values.get("conflicts", ()))


def rewrite(raw: bytes, path: str, wanted: FileContents) -> bytes:
    """Return the file with the values of `wanted`; only lines that differ change. Raises LoreFileError, ValidationError."""
    if wanted == read(raw, path):
        return raw
    document, entries = keys.load(frontmatter.decode(raw))
    profile = wanted.record
    values = {**profile._asdict(), **wanted._asdict()}
    left_out: dict[str, Any] = {key: _EMPTY.get(key) for key in _READERS}
    implied = {**left_out, "name": file_name(path)}
    edit_values = edit.Values(
        fields.parse_by(_READERS, entries), {key: values[key] for key in _READERS}, implied, left_out
    )
    text = None if profile.text == frontmatter.normalise(document.body) else profile.text
    return apply_edit(document, entries, edit_values, edit.Form(tuple(_READERS), _lines), text)


def _lines(key: str, value: Any) -> list[str]:
    if key == "settings":
        pairs = [f"{scalar(name, flow=True)}: {scalar(text, flow=True)}" for name, text in value]
        return [f"{key}: {{{', '.join(pairs)}}}"]
    return fields.lines(key, value, _FORMATS.get(key, ""))


def _parse_settings(value: Value) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, dict) else [("", None)] if value else []
    if not all(isinstance(text, str) for _, text in pairs):
        raise ExpectedError("a mapping {tone: short} of names to texts")
    return tuple([(name, str(text)) for name, text in pairs])


_READERS: dict[str, Callable[[Value], Any]] = {
    "name": fields.stripped_text,
    "capabilities": fields.READERS["tags"],
    "default_scope": fields.stripped_text,
    "settings": _parse_settings,
    "updated_at": fields.READERS["last_validated"],
    "conflicts": fields.READERS["conflicts"],
}
_FORMATS = {"name": "agent", "capabilities": "tags", "default_scope": "agent"}
_EMPTY = {"name": "", "capabilities": (), "default_scope": "", "settings": (), "conflicts": ()}
KIND = Kind(read, rewrite, {key: rank for rank, key in enumerate(_READERS)})
