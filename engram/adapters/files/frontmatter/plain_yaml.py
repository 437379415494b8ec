"""A fast parser of the YAML that Engram itself writes, and of the usual hand edits of it.

It keeps PyYAML (46 ms to import) off the cold path. Whatever it does not know for certain it hands over by
answering None; on everything it accepts it gives exactly what `yaml_events` gives (a property test holds the
two together).
"""

from __future__ import annotations

import re

from engram.adapters.files.frontmatter.scalars import WORDS, is_readable, read_quoted, reads_plain
from engram.adapters.files.frontmatter.tree import Entry, comment_of
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.tree import Value

# Most lines: a key and one word, a time or a number, which nothing can make anything but a plain string.
_SIMPLE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*): (\w(?:[\w./:+-]*\w)?)")
_WORD_MAP = re.compile(r"\{\w+: \w+(?:, \w+: \w+)*\}", re.ASCII)
_FLOW_WORD = re.compile(r"[^,\[\]{}]+")
_FLOW_KEY = re.compile(r"(\w+): +", re.ASCII)
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?= |$)")
_HEADERS = {"|": (0, "\n"), "|-": (0, ""), "|2": (2, "\n"), "|2-": (2, "")}
_ITEM = "  - "
_DEEPEST = 4


class _HandOverError(Exception):
    """This takes a real YAML parser."""


def parse(text: str) -> list[Entry] | None:
    """The top-level keys of a frontmatter (lines ending in a line feed), or None: ask the real parser."""
    if "\r" in text or not is_readable(text):
        return None
    try:
        return _entries(text.split("\n"))
    except _HandOverError:
        return None


def _entries(lines: list[str]) -> list[Entry]:
    entries: list[Entry] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line[0] == "#":
            at += 1
            continue
        simple = _SIMPLE.fullmatch(line)
        if simple:
            entries.append(Entry(simple[1], simple[2], at, at + 1))
            at += 1
            continue
        match = _KEY.match(line)
        if not match:
            raise _HandOverError
        value, end, comment = _value(lines, at, line[match.end() :], 0)
        entries.append(Entry(match[1], value, at, end, comment))
        at = end
    if len({entry.key for entry in entries}) != len(entries):
        raise _HandOverError
    return entries


def _value(lines: list[str], at: int, rest: str, indent: int) -> tuple[Value, int, str]:
    """What follows `key:` or `- ` on line `at`: the value, the line after it, its comment.

    `indent` is the column of the key or dash that holds it.
    """
    text = rest.strip(" ")
    if not text or text[0] == "#":
        if indent == 0 and at + 1 < len(lines) and lines[at + 1].startswith(_ITEM):
            items, end = _list(lines, at + 1)
            return items, end, ""
        return "", at + 1, comment_of(rest)
    if text[0] == "|":
        block, end = _block(lines, at, text, indent)
        return block, end, ""
    value, comment = _one_line(rest)
    return value, at + 1, comment


def _one_line(rest: str) -> tuple[Value, str]:
    """The value of one line and the comment after it."""
    if "\t" in rest:
        raise _HandOverError
    start = len(rest) - len(rest.lstrip(" "))
    value: Value
    first = rest[start]
    if first in "\"'[{":
        value, end = _flow(rest, start, 0) if first in "[{" else _quoted(rest, start)
        tail = rest[end:]
        if (tail.strip(" ") and not tail.lstrip(" ").startswith("#")) or tail.startswith("#"):
            raise _HandOverError
        return value, comment_of(tail)
    cut = rest.find(" #")
    value = (rest if cut < 0 else rest[:cut]).strip(" ")
    if not reads_plain(value, flow=False):
        raise _HandOverError
    return value, "" if cut < 0 else comment_of(rest[start + len(value) :])


def _quoted(text: str, at: int) -> tuple[str, int]:
    found = read_quoted(text, at)
    if found is None:
        raise _HandOverError
    return found


def _flow(text: str, at: int, depth: int) -> tuple[Value, int]:
    """The flow collection that opens at `at`, and where it ends."""
    simple = (WORDS if text[at] == "[" else _WORD_MAP).match(text, at)
    if simple:
        words = simple.group()[1:-1].split(", ")
        if text[at] == "[":
            return list(words), simple.end()
        pairs = [word.split(": ") for word in words]
        found: dict[str, Value] = {}
        found.update({key: word for key, word in pairs})  # noqa: C416 - dict() is typed by the strings
        if len(found) == len(pairs):
            return found, simple.end()
    if depth > _DEEPEST:
        raise _HandOverError
    return _flow_list(text, at + 1, depth) if text[at] == "[" else _flow_map(text, at + 1, depth)


def _flow_list(text: str, at: int, depth: int) -> tuple[list[Value], int]:
    items: list[Value] = []
    if text[at : at + 1] == "]":
        return items, at + 1
    while True:
        value, at = _flow_item(text, at, depth)
        items.append(value)
        at, closed = _flow_next(text, at, "]")
        if closed:
            return items, at


def _flow_map(text: str, at: int, depth: int) -> tuple[dict[str, Value], int]:
    found: dict[str, Value] = {}
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        key, at = _flow_key(text, at)
        if key in found:
            raise _HandOverError
        found[key], at = _flow_item(text, at, depth)
        at, closed = _flow_next(text, at, "}")
        if closed:
            return found, at


def _flow_key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] == '"':
        key, at = _quoted(text, at)
        if text[at : at + 2] != ": ":
            raise _HandOverError
        return key, at + 2
    match = _FLOW_KEY.match(text, at)
    if not match:
        raise _HandOverError
    return match[1], match.end()


def _flow_item(text: str, at: int, depth: int) -> tuple[Value, int]:
    first = text[at : at + 1]
    if first == "":
        raise _HandOverError
    if first in "[{":
        return _flow(text, at, depth + 1)
    if first in "\"'":
        return _quoted(text, at)
    match = _FLOW_WORD.match(text, at)
    if not match:
        raise _HandOverError
    word = match.group().rstrip(" ")
    if not reads_plain(word, flow=True):
        raise _HandOverError
    return word, match.end()


def _flow_next(text: str, at: int, close: str) -> tuple[int, bool]:
    """Past the `, ` or the closing bracket after an item; whether it was the bracket."""
    if text.startswith(", ", at):
        at += 2
        while text[at : at + 1] == " ":
            at += 1
        return at, False
    if text[at : at + 1] != close:
        raise _HandOverError
    return at + 1, True


def _block(lines: list[str], at: int, header: str, indent: int) -> tuple[str, int]:
    """The literal block whose header is on line `at`, and the line after it."""
    given, ending = _HEADERS.get(header, (-1, ""))
    end = at + 1
    if given < 0 or end >= len(lines) or (not given and not lines[end].strip(" ")):
        raise _HandOverError
    margin = indent + given if given else len(lines[end]) - len(lines[end].lstrip(" "))
    if margin <= indent or (not given and lines[end][margin] == "\t"):
        raise _HandOverError
    prefix = " " * margin
    while end < len(lines) and (not lines[end] or lines[end].startswith(prefix)):
        end += 1
    while not lines[end - 1]:
        end -= 1
    if end == at + 1 or not lines[end - 1].strip(" "):
        raise _HandOverError
    return "\n".join([line[margin:] for line in lines[at + 1 : end]]) + ending, end


def _list(lines: list[str], at: int) -> tuple[list[Value], int]:
    """The block list that starts on line `at`: scalars, or mappings of `key: value` lines."""
    items: list[Value] = []
    while at < len(lines) and lines[at].startswith(_ITEM):
        rest = lines[at][len(_ITEM) :]
        value: Value
        if _KEY.match(rest):
            value, at = _mapping(lines, at)
        else:
            value, at, _ = _value(lines, at, rest, 2)
        items.append(value)
    return items, at


def _mapping(lines: list[str], at: int) -> tuple[dict[str, Value], int]:
    """One mapping of a block list; its first key stands right after the dash."""
    found: dict[str, Value] = {}
    margin = len(_ITEM)
    while True:
        match = _KEY.match(lines[at][margin:])
        if not match or match[1] in found:
            raise _HandOverError
        found[match[1]], at, _ = _value(lines, at, lines[at][margin + match.end() :], margin)
        if at >= len(lines) or not lines[at].startswith("    "):
            return found, at
