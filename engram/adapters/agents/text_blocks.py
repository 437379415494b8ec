"""Add lines to TOML, YAML and markdown as text, and remove them again; a parser checks the results."""

from __future__ import annotations

import json
import re

from engram.adapters.agents.refusal import CannotEditError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BEGIN, END = "<!-- engram:begin -->", "<!-- engram:end -->"
_BLOCK = re.compile(rf"(?:\r?\n)?{BEGIN}.*?{END}[^\n]*(?:\n|\Z)", re.DOTALL)


# --- TOML


def put_table(text: str, name: str, values: Mapping[str, object]) -> str:
    """Return TOML with a table of that dotted name at its end, or with the values in the existing one."""
    found = _toml_at(text, name)
    if found is None:
        lines = [f"[{name}]", *(f"{key} = {_toml_value(value)}" for key, value in values.items())]
        after = _end_with_blank_line(text) + _line_end(text).join(lines) + _line_end(text)
    elif all(found.get(key) == value for key, value in values.items()):
        return text
    else:
        after = _update_table(text, name, values)
    now = _toml_at(after, name)
    if now is None or any(now.get(key) != value for key, value in values.items()):
        raise CannotEditError(f"[{name}] cannot be added to it")
    return after


def toml_section(text: str, name: str) -> Mapping[str, object]:
    """Return the entries of the table of that dotted name. Raises CannotEditError."""
    return _toml_at(text, name) or {}


def without_table(text: str, name: str) -> str:
    """Return TOML without a table and the tables below it. Raises CannotEditError if that would change anything else."""
    if _toml_at(text, name) is None:
        return text
    after = _without_table_lines(text, name)
    expected = _toml(text)
    *above, last = name.split(".")
    holder: dict[str, object] = expected
    for part in above:
        inner = holder[part]
        assert isinstance(inner, dict)
        holder = inner
    del holder[last]
    if _without_empty(_toml(after)) != _without_empty(expected):
        raise CannotEditError(f"[{name}] cannot be removed from it without changing something else")
    return after


def _without_table_lines(text: str, name: str) -> str:
    """Return the text without the lines of the table, up to the next other header, and the blank line before them."""
    kept: list[str] = []
    inside = False
    trailing: list[str] = []  # blank lines and comments at the end of our lines belong to the next table
    header = re.compile(rf"[ \t]*\[[ \t]*{re.escape(name)}(?:\.[^\]\n]+)?[ \t]*\]")
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if line.lstrip().startswith("[") and _is_complete(text[: at - len(line)]):
            begins = header.match(line) is not None
            if begins and not inside and kept and not kept[-1].strip():
                kept.pop()
            kept += trailing if not begins else []
            inside, trailing = begins, []
        if not inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            trailing = []
        else:
            trailing.append(line)
    return "".join([*kept, *(line for line in trailing if line.strip())])


def _is_complete(text: str) -> bool:
    """Return whether TOML is complete, that is, does not end within a string or list of several lines."""
    try:
        _toml(text)
    except CannotEditError:
        return False
    return True


def _toml(text: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text.replace("\r\n", "\n").removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise CannotEditError(f"it is not TOML: {str(error)[:120]}") from None


def _toml_at(text: str, name: str) -> dict[str, object] | None:
    found: object = _toml(text)
    for part in name.split("."):
        if not isinstance(found, dict):
            raise CannotEditError(f"{name} is not a table")
        if part not in found:
            return None
        found = found[part]
    if not isinstance(found, dict):
        raise CannotEditError(f"{name} is not a table")
    return found


def _update_table(text: str, name: str, values: Mapping[str, object]) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        table = document
        for part in name.split("."):
            table = table[part]
        for key, value in values.items():
            if table.get(key) != value:
                table[key] = value
        return str(tomlkit.dumps(document))
    except (TOMLKitError, KeyError, TypeError) as error:
        raise CannotEditError(f"its TOML cannot be edited: {str(error)[:120]}") from None


def _toml_value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _without_empty(found: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in found.items() if value != {}}


# --- YAML


def put_yaml(text: str, section: str, name: str, values: Mapping[str, object]) -> str:
    """Return YAML with `name` in the block mapping `section`; both are added if missing."""
    found = _yaml(text).get(section)
    if found is not None and not isinstance(found, dict):
        raise CannotEditError(f"{section} is not a mapping")
    if found and name in found:
        if found[name] == dict(values):
            return text
        text = without_yaml(text, section, name)
        found = {key: value for key, value in found.items() if key != name}
    if not found and section in _yaml(text):
        raise CannotEditError(f"{section} is empty: remove that line first")
    if not found:
        head = _end_with_blank_line(text, blank=False)
        after = head + _yaml_lines([f"{section}:"], "  ", name, values, _line_end(text))
    else:
        end, indent = _find_section(text, section)
        before = text[:end] if text[:end].endswith("\n") else text[:end] + _line_end(text)
        after = before + _yaml_lines([], indent, name, values, _line_end(text)) + text[end:]
    expected = {**_yaml(text), section: {**(found or {}), name: dict(values)}}
    if _yaml(after) != expected:
        raise CannotEditError(f"{name} cannot be added to {section}")
    return after


def yaml_section(text: str, section: str) -> Mapping[str, object]:
    """Return the entries of a top-level mapping. Raises CannotEditError."""
    found = _yaml(text).get(section)
    return found if isinstance(found, dict) else {}


def without_yaml(text: str, section: str, name: str) -> str:
    """Return YAML without the entry `name`, and without the section if that is left empty."""
    whole = _yaml(text)
    found = whole.get(section)
    if not isinstance(found, dict) or name not in found:
        return text
    _, indent = _find_section(text, section)
    line = rf"^{indent}{re.escape(name)}:[ \t]*\r?\n(?:{indent}[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n(?={indent}[ \t]))*"
    after = re.sub(line, "", text, count=1, flags=re.MULTILINE)
    rest = {key: value for key, value in found.items() if key != name}
    if not rest:
        after = re.sub(rf"^{re.escape(section)}:[ \t]*(?:\r?\n|\Z)", "", after, count=1, flags=re.MULTILINE)
    expected = {**whole, section: rest} if rest else {k: v for k, v in whole.items() if k != section}
    if _yaml(after) != expected:
        raise CannotEditError(f"{name} cannot be removed from {section} without changing something else")
    return after


def _yaml(text: str) -> dict[str, object]:
    import yaml

    try:
        found = yaml.safe_load(text) if text.strip() else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CannotEditError(f"it is not YAML: {str(error).splitlines()[0][:120]}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CannotEditError("it does not hold a mapping")
    return found


def _find_section(text: str, section: str) -> tuple[int, str]:
    """Return the end of a section's entries and their indentation. Raises CannotEditError unless it is in block style."""
    head = re.search(rf"^{re.escape(section)}:[ \t]*(?:#[^\n]*)?\r?\n", text, re.MULTILINE)
    if head is None:
        raise CannotEditError(f"{section} is not written as a block")
    end, indent = head.end(), ""
    for line in text[head.end() :].splitlines(keepends=True):
        bare = line.strip()
        own = line[: len(line) - len(line.lstrip(" "))]
        if bare and not bare.startswith("#") and not own:
            break
        if bare and not bare.startswith("#"):
            indent = indent or own
        if bare and own:
            end = head.end() + text[head.end() :].index(line, end - head.end()) + len(line)
    if not indent:
        raise CannotEditError(f"{section} is not written as a block")
    return end, indent


def _yaml_lines(
    head: list[str], indent: str, name: str, values: Mapping[str, object], end_of_line: str
) -> str:
    lines = [*head, f"{indent}{name}:"]
    lines += [f"{indent * 2}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return end_of_line.join(lines) + end_of_line


# --- markdown


def put_block(text: str, lines: str) -> str:
    """Return a text with a block between markers, at its end or where it was."""
    end_of_line = _line_end(text)
    block = end_of_line.join([BEGIN, *lines.strip("\n").split("\n"), END]) + end_of_line
    _check_markers(text)
    if BEGIN not in text:
        return _end_with_blank_line(text) + block
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    return text[:start] + block.rstrip("\r\n") + text[stop:]


def without_block(text: str) -> str:
    """Return the text without the block and the blank line before it."""
    _check_markers(text)
    return _BLOCK.sub("", text)


def _check_markers(text: str) -> None:
    counts = text.count(BEGIN), text.count(END)
    if counts not in ((0, 0), (1, 1)) or text.find(BEGIN) > text.find(END):
        raise CannotEditError(f"its markers {BEGIN} and {END} do not match")


def _end_with_blank_line(text: str, *, blank: bool = True) -> str:
    """Return the text with a line end, and a blank line, so that lines can be added."""
    if not text:
        return ""
    ended = text if text.endswith("\n") else text + _line_end(text)
    return ended + _line_end(text) * blank


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
