"""The kinds of edit that connecting an agent makes to a text, and the removal of each.

These functions work on texts; the use case reads and writes the files. "" stands for a file that does not exist.
"""

from __future__ import annotations

import re

from engram.adapters.agents import text_blocks
from engram.adapters.agents.jsonc import ARRAY, OBJECT, Document
from engram.adapters.agents.refusal import CannotEditError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_OUR_COMMAND = re.compile(r"\bengram(?:\.exe)?[\"']? hook [a-z-]+ --agent [a-z-]+\s*$")


class Entry(NamedTuple):
    """A value at a path of keys in JSON, such as an MCP server. `extra` are keys that are added if missing."""

    keys: tuple[str, ...]
    value: Mapping[str, object]
    extra: Mapping[str, object] = {}


class HookEntries(NamedTuple):
    """Commands in the lists of `hooks` by event in JSON, beside the commands of others.

    `events` has the entry for each event; with `matchers` it is in a group of its own with that matcher ("": none).
    """

    events: Mapping[str, Mapping[str, object]]
    matchers: Mapping[str, str] | None = None
    extra: Mapping[str, object] = {}


class Items(NamedTuple):
    """Texts in a list at a path of keys in JSON."""

    keys: tuple[str, ...]
    values: tuple[str, ...]


class TomlTable(NamedTuple):
    """A table in TOML, by its dotted name."""

    name: str
    values: Mapping[str, object]


class YamlEntry(NamedTuple):
    """An entry of a top-level mapping in YAML."""

    section: str
    name: str
    values: Mapping[str, object]


class Block(NamedTuple):
    """Lines between markers in a text, such as AGENTS.md."""

    text: str


class Owned(NamedTuple):
    """A whole file that only Engram writes, recognised by a mark in it.

    `kept` says that its content changes later, and is not overwritten.
    """

    text: str
    kept: bool = False


Edit = Entry | HookEntries | Items | TomlTable | YamlEntry | Block | Owned
OWNED_MARK = "engram connect"


def apply_edit(text: str, edit: Edit) -> str:
    """Return the text with the edit; unchanged if it has the edit already. Raises CannotEditError."""
    return str(_APPLY[type(edit)](text, edit))


def remove_edit(text: str, edit: Edit, before: str | None = None) -> str:
    """Return the text without the edit. Raises CannotEditError.

    Objects and lists that are left empty are removed unless the text `before` the edit (None: unknown) had them.
    """
    if not text:
        return text
    if isinstance(edit, Entry | HookEntries | Items):
        return _prune_empty(_REMOVE[type(edit)](text, edit), edit, before)
    return str(_REMOVE[type(edit)](text, edit))


# --- JSON


def _apply_entry(text: str, edit: Entry) -> str:
    text = _with_extra(text, edit.extra)
    found = Document(text).find(edit.keys)
    if found is None:
        return Document(text).put(edit.keys, dict(edit.value))
    if found.kind != OBJECT:
        raise CannotEditError(f"{'.'.join(edit.keys)} is not an object")
    for key, value in edit.value.items():  # keys that a person added to our entry stay
        text = Document(text).put([*edit.keys, key], value)
    return text


def _with_extra(text: str, extra: Mapping[str, object]) -> str:
    for key, value in extra.items():
        text = text if Document(text).find([key]) is not None else Document(text).put([key], value)
    return text


def _apply_items(text: str, edit: Items) -> str:
    for value in edit.values:
        if value not in _list_at(text, edit.keys):
            text = Document(text).append(edit.keys, value)
    return text


def _remove_items(text: str, edit: Items) -> str:
    for at, value in reversed([*enumerate(_list_at(text, edit.keys))]):
        if value in edit.values:
            text = Document(text).without([*edit.keys, at])
    return text


def _apply_hooks(text: str, edit: HookEntries) -> str:
    text = _with_extra(text, edit.extra)
    for event in _hook_events(text):
        if event not in edit.events:
            text = _remove_our_hooks(text, event, keep=0)
    for event, entry in edit.events.items():
        paths = _our_hooks(text, event)
        if paths:
            text = _remove_our_hooks(text, event, keep=1)
            text = Document(text).put(paths[0], dict(entry))
        else:
            text = Document(text).append(["hooks", event], _hook_group(edit, event, entry))
    return text


def _hook_group(edit: HookEntries, event: str, entry: Mapping[str, object]) -> Mapping[str, object]:
    if edit.matchers is None:
        return entry
    matcher = edit.matchers.get(event, "")
    return {**({"matcher": matcher} if matcher else {}), "hooks": [entry]}


def _remove_hooks(text: str, _edit: HookEntries) -> str:
    for event in _hook_events(text):
        text = _remove_our_hooks(text, event, keep=0)
    return text


def _remove_our_hooks(text: str, event: str, keep: int) -> str:
    """Remove our commands except the first `keep` from an event's list, and groups that are left empty."""
    for path in reversed(_our_hooks(text, event)[keep:]):
        text = Document(text).without(path)
        if len(path) > 3 and (node := Document(text).find(path[:-1])) is not None and not node.children:
            text = Document(text).without(path[:3])
    return text


def _hook_events(text: str) -> list[str]:
    hooks = Document(text).find(["hooks"])
    return [] if hooks is None else [child.key for child in hooks.children if child.node.kind == ARRAY]


def _our_hooks(text: str, event: str) -> list[list[str | int]]:
    """Return the paths of our commands in the list of an event, in groups or by themselves."""
    found: list[list[str | int]] = []
    for at, item in enumerate(_list_at(text, ["hooks", event])):
        if is_our_hook(item):
            found.append(["hooks", event, at])
        elif isinstance(item, dict):
            inner = [n for n, one in enumerate(_as_list(item.get("hooks"))) if is_our_hook(one)]
            found += [["hooks", event, at, "hooks", n] for n in inner]
    return found


def is_our_hook(item: object) -> bool:
    """Return whether a hook's entry runs Engram's command."""
    if not isinstance(item, dict):
        return False
    return any(_OUR_COMMAND.search(str(item.get(name, ""))) is not None for name in ("command", "bash"))


def _list_at(text: str, keys: Sequence[str]) -> list[Any]:
    node = Document(text).find(keys)
    return [] if node is None else _as_list(node.plain())


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _prune_empty(text: str, edit: Entry | HookEntries | Items, before: str | None) -> str:
    """Return the text without the empty objects and lists of the edit that `before` did not have."""
    old = Document(before or "")
    if isinstance(edit, HookEntries):
        paths = [["hooks", event] for event in edit.events] + [["hooks"]]
    else:
        keys = edit.keys if isinstance(edit, Items) else edit.keys[:-1]
        paths = [list(keys[:depth]) for depth in range(len(keys), 0, -1)]
    for path in paths:
        node = Document(text).find(path)
        if node is not None and node.kind != "scalar" and not node.children and old.find(path) is None:
            text = Document(text).without(path)
    return text if isinstance(edit, Items) else _without_extra(text, edit.extra, before)


def _without_extra(text: str, extra: Mapping[str, object], before: str | None) -> str:
    """Return the text without the keys that an edit added; if `before` is unknown, only if nothing else is left."""
    for key, value in extra.items():
        node = Document(text).find([key])
        is_alone = len(Document(text).root.children) == 1
        is_added = is_alone if before is None else Document(before).find([key]) is None
        if node is not None and node.plain() == value and is_added:
            text = Document(text).without([key])
    return text


# --- sibling entries


def siblings(text: str, edit: Edit) -> Mapping[str, object]:
    """Return the entries by name of the section that the edit's entry belongs to. Raises CannotEditError."""
    if isinstance(edit, TomlTable):
        return text_blocks.toml_section(text, edit.name.rpartition(".")[0])
    if isinstance(edit, YamlEntry):
        return text_blocks.yaml_section(text, edit.section)
    node = Document(text).find(edit.keys[:-1]) if isinstance(edit, Entry) else None
    return {} if node is None or node.kind != OBJECT else {one.key: one.node.plain() for one in node.children}


# --- whole files


def _apply_owned(text: str, edit: Owned) -> str:
    if text and OWNED_MARK not in text:
        raise CannotEditError("it exists and was not written by Engram")
    return text if text and edit.kept else edit.text


def _remove_owned(text: str, _edit: Owned) -> str:
    return "" if OWNED_MARK in text else text


_APPLY: Mapping[type, Callable[[str, Any], str]] = {
    Entry: _apply_entry,
    HookEntries: _apply_hooks,
    Items: _apply_items,
    TomlTable: lambda text, edit: text_blocks.put_table(text, edit.name, edit.values),
    YamlEntry: lambda text, edit: text_blocks.put_yaml(text, edit.section, edit.name, edit.values),
    Block: lambda text, edit: text_blocks.put_block(text, edit.text),
    Owned: _apply_owned,
}
_REMOVE: Mapping[type, Callable[[str, Any], str]] = {
    Entry: lambda text, edit: Document(text).without(edit.keys),
    HookEntries: _remove_hooks,
    Items: _remove_items,
    TomlTable: lambda text, edit: text_blocks.without_table(text, edit.name),
    YamlEntry: lambda text, edit: text_blocks.without_yaml(text, edit.section, edit.name),
    Block: lambda text, _edit: text_blocks.without_block(text),
    Owned: _remove_owned,
}


def snippet(edit: Edit) -> str:
    """Return the text that a person would add to the file by hand."""
    return apply_edit("", edit)


def has_edit(text: str, edit: Edit) -> bool:
    """Return whether the text has the edit, possibly of another version or for another Python."""
    try:
        return bool(text) and remove_edit(text, edit, text) != text
    except CannotEditError:
        return False
