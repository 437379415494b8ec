"""Edit JSON with comments as text: everything else keeps each byte (order, comments, spaces, line ends).

It has its own small parser, since one that drops comments cannot edit a person's settings. The parser accepts comments
and trailing commas, and refuses anything else that is not JSON, and duplicate keys.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from engram.adapters.agents.refusal import CannotEditError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    Keys = Sequence[str | int]

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"
_MAX_DEPTH = 100
_TOKEN = re.compile(
    r'(?P<space>[ \t\r\n\ufeff]+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:\"/]+)",
    re.DOTALL,
)
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)


class Child(NamedTuple):
    """A member of an object or an item of an array: its start, its value, and the offset of the comma after it or -1."""

    key: str
    start: int
    node: Node
    comma: int


class Node(NamedTuple):
    """A value and its span: `text[start:end]`."""

    kind: str
    start: int
    end: int
    value: object = None
    children: tuple[Child, ...] = ()

    def plain(self) -> object:
        """Return the value as a Python object."""
        if self.kind == OBJECT:
            return {child.key: child.node.plain() for child in self.children}
        return [child.node.plain() for child in self.children] if self.kind == ARRAY else self.value

    def child(self, key: str | int) -> int | None:
        """Return the index of a member or item among the children; None if there is none."""
        if isinstance(key, int):
            return key if self.kind == ARRAY and 0 <= key < len(self.children) else None
        return next((at for at, child in enumerate(self.children) if child.key == key), None)


class Document:
    """A parsed JSON text. Every edit returns a new text."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises CannotEditError if it is not JSON, apart from comments and trailing commas."""
        self.text = text or "{}\n"
        self._tokens: list[tuple[str, int, int]] = []
        self._ends: list[int] = []
        self._scan()
        self._at = 0
        self.root = self._value(0)
        if self._at < len(self._tokens):
            raise self._syntax_error(self._tokens[self._at][1])
        if self.root.kind != OBJECT:
            raise CannotEditError("it does not hold an object")

    def find(self, keys: Keys) -> Node | None:
        """Return the value at a path of keys (numbers for items of arrays); None if there is none."""
        node = self.root
        for key in keys:
            at = node.child(key)
            if at is None:
                return None
            node = node.children[at].node
        return node

    def put(self, keys: Keys, value: object) -> str:
        """Return the text with a value at a path, adding objects on the way. Raises CannotEditError if one is no object."""
        node = self.root
        for depth, key in enumerate(keys):
            at = node.child(key)
            if at is None:
                if node.kind != OBJECT or not isinstance(key, str):
                    raise CannotEditError(f"{_format_path(keys[:depth])} is not an object")
                for missing in reversed(keys[depth + 1 :]):
                    value = {str(missing): value}
                return self._insert(node, value, key)
            node = node.children[at].node
        if node.plain() == value:
            return self.text
        return self._replace(node, value)

    def append(self, keys: Keys, value: object) -> str:
        """Return the text with one more item in the array at a path, which is added if missing."""
        node = self.find(keys)
        if node is None:
            return self.put(keys, [value])
        if node.kind != ARRAY:
            raise CannotEditError(f"{_format_path(keys)} is not a list")
        return self._insert(node, value, None)

    def without(self, keys: Keys) -> str:
        """Return the text without the value at a path; unchanged if there is none."""
        holder = self.find(keys[:-1])
        at = None if holder is None else holder.child(keys[-1])
        return self.text if holder is None or at is None else self._remove(holder, at)

    # --- edits of the text

    def _insert(self, node: Node, value: object, key: str | None) -> str:
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
        last = self._last_before(node.end - 1)
        if node.children and "\n" not in self.text[node.start : node.children[0].start]:
            return self._insert_inline(node, name + json.dumps(value, ensure_ascii=False))
        outer = self._indent_of(node.start)
        indent = self._indent_of(node.children[0].start) if node.children else outer + self._indent_unit()
        body = self._end_of_line() + indent + name + self._render(value, indent)
        rest = self.text[last : node.end - 1]
        closing = "" if "\n" in rest else self._end_of_line() + outer
        if not node.children:
            tail = rest if "\n" in rest else ""
            return self.text[:last] + body + (tail or closing) + self.text[node.end - 1 :]
        final = node.children[-1]
        if final.comma >= 0:
            return self.text[:last] + body + "," + closing + self.text[last:]
        head = self.text[: final.node.end] + "," + self.text[final.node.end : last]
        return head + body + closing + self.text[last:]

    def _insert_inline(self, node: Node, member: str) -> str:
        final = node.children[-1]
        at = final.node.end if final.comma < 0 else final.comma + 1
        added = f", {member}" if final.comma < 0 else f" {member},"
        return self.text[:at] + added + self.text[at:]

    def _replace(self, node: Node, value: object) -> str:
        indent = self._indent_of(node.start)
        return self.text[: node.start] + self._render(value, indent) + self.text[node.end :]

    def _remove(self, node: Node, at: int) -> str:
        child = node.children[at]
        start = self._last_before(child.start)
        end = child.node.end if child.comma < 0 else child.comma + 1
        text = self.text[:start] + self.text[end:]
        if at and child.comma < 0:
            comma = node.children[at - 1].comma
            text = text[:comma] + text[comma + 1 :]
        if len(node.children) == 1:
            close = node.end - (end - start) - 1
            if not text[node.start + 1 : close].strip():
                text = text[: node.start + 1] + text[close:]
        return text

    def _render(self, value: object, indent: str) -> str:
        lines = json.dumps(value, indent=self._indent_unit(), ensure_ascii=False).split("\n")
        return (self._end_of_line() + indent).join(lines)

    def _indent_unit(self) -> str:
        found = _INDENTED.search(self.text)
        return found[1] if found else "  "

    def _end_of_line(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent_of(self, offset: int) -> str:
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _last_before(self, offset: int) -> int:
        """Return the end of the last comment or token before an offset."""
        at = bisect_right(self._ends, offset)
        return self._ends[at - 1] if at else 0

    # --- parsing

    def _scan(self) -> None:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self._syntax_error(at)
            at = match.end()
            if match.lastgroup != "space":
                self._ends.append(at)
                if match.lastgroup != "comment":
                    self._tokens.append((str(match.lastgroup), match.start(), at))

    def _value(self, depth: int) -> Node:
        kind, start, end = self._next()
        word = self.text[start:end]
        if depth > _MAX_DEPTH:
            raise CannotEditError("it is nested too deeply")
        if word in ("{", "["):
            return self._container(word, start, depth)
        if kind == "mark":
            raise self._syntax_error(start)
        try:
            return Node(SCALAR, start, end, json.loads(word, parse_constant=_refuse_constant))
        except ValueError:
            raise self._syntax_error(start) from None

    def _container(self, opening: str, start: int, depth: int) -> Node:
        closing = {"{": "}", "[": "]"}[opening]
        children: list[Child] = []
        keys = set[str]()
        while self._peek() != closing:
            if children and children[-1].comma < 0:
                raise self._syntax_error(self._tokens[self._at][1])
            key, at = "", self._tokens[self._at][1]
            if opening == "{":
                key = self._key()
                if key in keys:
                    raise CannotEditError(
                        f"the key {key[:40]!r} occurs twice, the second time in line {self._line(at)}"
                    )
                keys.add(key)
            node = self._value(depth + 1)
            comma = self._next()[1] if self._peek() == "," else -1
            children.append(Child(key, at, node, comma))
        end = self._next()[2]
        return Node(OBJECT if opening == "{" else ARRAY, start, end, None, tuple(children))

    def _key(self) -> str:
        kind, start, end = self._next()
        if kind != "text" or self._peek() != ":":
            raise self._syntax_error(start)
        self._next()
        try:
            return str(json.loads(self.text[start:end]))
        except ValueError:
            raise self._syntax_error(start) from None

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            raise CannotEditError("it ends too early")
        _, start, end = self._tokens[self._at]
        return self.text[start:end]

    def _next(self) -> tuple[str, int, int]:
        self._peek()
        self._at += 1
        return self._tokens[self._at - 1]

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _syntax_error(self, offset: int) -> CannotEditError:
        return CannotEditError(f"line {self._line(offset)} is not JSON")


def _refuse_constant(word: str) -> object:
    raise ValueError(word)


def _format_path(keys: Keys) -> str:
    return ".".join(map(str, keys)) or "the whole"
