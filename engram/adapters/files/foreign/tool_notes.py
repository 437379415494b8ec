"""Markdown notes of coding agents and other memory tools: their heads, and their text without what is not knowledge.

The heads are often invalid YAML (`globs: **/*.ts`), so they are read line by line.
"""

from __future__ import annotations

import re

from engram.adapters.files.frontmatter.frontmatter import bare
from engram.domain.typed import NamedTuple

_FENCE = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"\s*([A-Za-z_][\w-]*):[ \t]*(.*)")
_ITEM = re.compile(r"\s*-[ \t]+(.+)")
_PART = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]+)""")
_COMMA = re.compile(r",(?![^{}]*\})")  # outside of braces
_BRACES = re.compile(r"\{([^{}]*)\}")
_OWN_TEXT = re.compile(r"<!-- engram:begin.*?(?:<!-- engram:end -->|\Z)", re.DOTALL)
_NOTE_LINK = re.compile(r"\s*[-*][ \t]+(?:\*\*)?\[[^\]]*\]\([^)/:]+\.md\)")
_LINK = re.compile(r"\[\[([^\]|#]+)")
_TYPED_RELATION = re.compile(r"^\s*-[ \t]+([A-Za-z][\w -]{0,60}?)[ \t]+\[\[([^\]|#]+)", re.MULTILINE)
_HASHTAG = re.compile(r"(?<![\w#/&(])#([A-Za-z][\w-]*)")
_OBSERVATION = re.compile(r"^\s*-[ \t]+\[([^\]\s][^\]]*)\][ \t]+(?!\()", re.MULTILINE)
_POINTER = re.compile(
    r"(?:(?:please )?(?:see|read|refer to)[ :]+)?[`\[]*@?(?:\.?/)?[\w./-]+\.md[`\]]*(?:\([^)]*\))?\.?",
    re.IGNORECASE,
)
_MAX_LIST, _MAX_PATTERNS = 4000, 100  # characters of globs; patterns, including those with braces
_TASK_MARKS = ("x", "X", "-")


class Note(NamedTuple):
    """A note: its head by lower-case key (lists are comma-separated), its text, and the keys as written."""

    head: dict[str, str]
    text: str
    written: dict[str, str]

    @property
    def tags(self) -> list[str]:
        """The tags of the head."""
        return [tag.strip().lstrip("#") for tag in self.head.get("tags", "").split(",") if tag.strip()]


def read_note(text: str) -> Note:
    """Parse a document; what Engram itself wrote between its markers is left out."""
    found = _FENCE.match(text)
    head, written = _parse_head(found[1]) if found else ({}, {})
    body = text[found.end() :] if found else text.removeprefix("\ufeff")
    return Note(head, _OWN_TEXT.sub("", body).strip(), written)


def without_index(text: str) -> str:
    """Return the text of an index without the lines that only link to a note beside it."""
    return "\n".join(line for line in text.splitlines() if not _NOTE_LINK.match(line)).strip()


def says_something(text: str) -> bool:
    """Return whether there is more than headings and references to other files, such as `@AGENTS.md`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return any(not line.startswith("#") and not _POINTER.fullmatch(line) for line in lines)


def names_linked(text: str) -> list[str]:
    """Return the names to which a note links: `[[Name]]`."""
    return list(dict.fromkeys(name.strip() for name in _LINK.findall(text) if name.strip()))


def relations(text: str) -> list[tuple[str, str]]:
    """Return the typed relations of a note (`- depends_on [[Name]]`), each once, as kind and name."""
    return list(dict.fromkeys((kind.strip(), name.strip()) for kind, name in _TYPED_RELATION.findall(text)))


def split_list(text: str) -> list[str]:
    """Return the items of a comma-separated list."""
    return [item.strip() for item in text.split(",") if item.strip()]


def patterns(text: str) -> list[str]:
    """Return the patterns in a list of files, with braces expanded: `*.{js,ts}` is two; [] if there are too many."""
    waiting, found = _COMMA.split(text) if len(text) <= _MAX_LIST else [], list[str]()
    for _ in range(_MAX_PATTERNS):
        if not waiting:
            return [pattern for pattern in dict.fromkeys(found) if pattern]
        pattern = waiting.pop(0).strip()
        braces = _BRACES.search(pattern)
        if braces is None:
            found.append(pattern)
        else:
            before, after = pattern[: braces.start()], pattern[braces.end() :]
            waiting[:0] = [f"{before}{choice.strip()}{after}" for choice in braces[1].split(",")]
    return []


def hashtags(text: str) -> list[str]:
    """Return the `#tags` in the observations of a note."""
    lines = [line for line in text.splitlines() if _OBSERVATION.match(line)]
    return list(dict.fromkeys(tag for line in lines for tag in _HASHTAG.findall(line)))


def observed_categories(text: str) -> list[str]:
    """Return the categories of a note's observations, `- [category] …`, each once, without task boxes."""
    return list(dict.fromkeys(name for name in _OBSERVATION.findall(text) if name not in _TASK_MARKS))


def _parse_head(block: str) -> tuple[dict[str, str], dict[str, str]]:
    found: dict[str, str] = {}
    written: dict[str, str] = {}
    last = ""
    for line in block.splitlines():
        item, key = _ITEM.match(line), _KEY.match(line)
        if item and last:
            found[last] = f"{found[last]}, {_unquote(item[1])}" if found[last] else _unquote(item[1])
        elif key:
            last = key[1].lower()
            found[last] = _unquote(key[2])
            written[last] = key[1]
    return found, written


def _unquote(value: str) -> str:
    """Return a value without quotes, and a list without brackets."""
    value = value.strip()
    if value[:1] == "[" and value[-1:] == "]":
        return ", ".join(_unquote(part) for part in _PART.findall(value[1:-1]) if part.strip())
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else bare(value)
