"""Markdown as coding agents and other memory tools keep it: what its head says, and its text without what is no knowledge.

Their heads are often no YAML (`globs: **/*.ts`), so they are read line by line.
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
_OURS = re.compile(r"<!-- engram:begin.*?(?:<!-- engram:end -->|\Z)", re.DOTALL)
_LINKS_A_NOTE = re.compile(r"\s*[-*][ \t]+(?:\*\*)?\[[^\]]*\]\([^)/:]+\.md\)")
_RELATION = re.compile(r"\[\[([^\]|#]+)")
_TYPED = re.compile(r"^\s*-[ \t]+([A-Za-z][\w -]{0,60}?)[ \t]+\[\[([^\]|#]+)", re.MULTILINE)
_HASHTAG = re.compile(r"(?<![\w#/&(])#([A-Za-z][\w-]*)")
_OBSERVATION = re.compile(r"^\s*-[ \t]+\[([^\]\s][^\]]*)\][ \t]+(?!\()", re.MULTILINE)
_POINTER = re.compile(
    r"(?:(?:please )?(?:see|read|refer to)[ :]+)?[`\[]*@?(?:\.?/)?[\w./-]+\.md[`\]]*(?:\([^)]*\))?\.?",
    re.IGNORECASE,
)
_LONGEST_LIST, _MOST_PATTERNS = 4000, 100  # characters of globs, and patterns with those that have braces
_TASK_MARKS = ("x", "X", "-")


class Note(NamedTuple):
    """A note: the keys of its head in small letters (lists are texts with commas), its text, and the keys as it writes them."""

    head: dict[str, str]
    text: str
    written: dict[str, str]

    @property
    def tags(self) -> list[str]:
        """The tags of the head."""
        return [tag.strip().lstrip("#") for tag in self.head.get("tags", "").split(",") if tag.strip()]


def read_note(text: str) -> Note:
    """Return a document as a note; what Engram itself wrote into it (rules between its marks) is left out."""
    found = _FENCE.match(text)
    head, written = _head(found[1]) if found else ({}, {})
    body = text[found.end() :] if found else text.removeprefix("\ufeff")
    return Note(head, _OURS.sub("", body).strip(), written)


def without_index(text: str) -> str:
    """Return the text of an index without the lines that only point to a note beside it."""
    return "\n".join(line for line in text.splitlines() if not _LINKS_A_NOTE.match(line)).strip()


def says_something(text: str) -> bool:
    """Return whether there is more than headings, and pointers to a file that agents read instead: `@AGENTS.md`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return any(not line.startswith("#") and not _POINTER.fullmatch(line) for line in lines)


def names_linked(text: str) -> list[str]:
    """Return the names that a note links to: `[[Name]]`."""
    return list(dict.fromkeys(name.strip() for name in _RELATION.findall(text) if name.strip()))


def relations(text: str) -> list[tuple[str, str]]:
    """Return the typed relations of a note, each once: `- depends_on [[Name]]` as the kind and the name."""
    return list(dict.fromkeys((kind.strip(), name.strip()) for kind, name in _TYPED.findall(text)))


def split_list(text: str) -> list[str]:
    """Return the items of a list of the head."""
    return [item.strip() for item in text.split(",") if item.strip()]


def patterns(text: str) -> list[str]:
    """Return the patterns of a list of files, each without braces: `*.{js,ts}` is two; none where they are too many."""
    waiting, found = _COMMA.split(text) if len(text) <= _LONGEST_LIST else [], list[str]()
    for _ in range(_MOST_PATTERNS):
        if not waiting:
            return [one for one in dict.fromkeys(found) if one]
        pattern = waiting.pop(0).strip()
        braces = _BRACES.search(pattern)
        if braces is None:
            found.append(pattern)
        else:
            before, after = pattern[: braces.start()], pattern[braces.end() :]
            waiting[:0] = [f"{before}{one.strip()}{after}" for one in braces[1].split(",")]
    return []


def hashtags(text: str) -> list[str]:
    """Return the `#tags` in the observations of a note."""
    lines = [line for line in text.splitlines() if _OBSERVATION.match(line)]
    return list(dict.fromkeys(tag for line in lines for tag in _HASHTAG.findall(line)))


def observed_categories(text: str) -> list[str]:
    """Return the categories of a note's observations, `- [category] …`, each once; boxes of tasks are none."""
    return list(dict.fromkeys(name for name in _OBSERVATION.findall(text) if name not in _TASK_MARKS))


def _head(block: str) -> tuple[dict[str, str], dict[str, str]]:
    found: dict[str, str] = {}
    written: dict[str, str] = {}
    last = ""
    for line in block.splitlines():
        item, key = _ITEM.match(line), _KEY.match(line)
        if item and last:
            found[last] = f"{found[last]}, {_bare(item[1])}" if found[last] else _bare(item[1])
        elif key:
            last = key[1].lower()
            found[last] = _bare(key[2])
            written[last] = key[1]
    return found, written


def _bare(value: str) -> str:
    """Return a value without quotes, and without the brackets of a list."""
    value = value.strip()
    if value[:1] == "[" and value[-1:] == "]":
        return ", ".join(_bare(part) for part in _PART.findall(value[1:-1]) if part.strip())
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else bare(value)
