"""Links in the text of an entry file: wiki links such as `[[queue consumers]]`, and markdown links to other files."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t\r]*$", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,4})(?!`)[^\n]{1,1000}?(?<!`)\1(?!`)")
_WIKI = re.compile(r"(?<!\[)\[\[(?!\s)([^\[\]\n|#]{1,200})(?:[#|][^\[\]\n]{0,200})?\]\](?!\])")
_NO_FILE = r"(?![\w+.-]{2,20}:|[/#\\<\[])"
_FILE = re.compile(
    rf"\[[^\[\]\n]{{0,200}}\]\((?:<{_NO_FILE}([^<>\n#]{{1,300}})|{_NO_FILE}((?:[^()\s>#]|\([^()\s>#]{{0,99}}\)){{1,300}}))"
)
_IN_PROPERTY = re.compile(r"""(["'])\[\[(?!\s)([^\[\]\n|#"']{1,200})(?:[#|][^\[\]\n]{0,200})?\]\]\1""")


class TextLink(NamedTuple):
    """A link: what it leads to as it is written, its line (from 1), and whether it is a wiki link (else: to a file)."""

    target: str
    line: int
    is_wiki: bool


def text_links(text: str) -> list[TextLink]:
    """Return the links in the text of a whole file, in order, but for those in fields and in code; web addresses are none."""
    if "[[" not in text and "](" not in text:
        return []
    return sorted(_find_links(without_code(_FIELDS.sub(_blank, text))), key=lambda link: link.line)


def property_links(text: str) -> list[str]:
    """Return the targets of the links that are values of properties, in quotes, as Obsidian writes them."""
    fields = _FIELDS.match(text)
    return [match[2].strip() for match in _IN_PROPERTY.finditer(fields[0])] if fields else []


def without_code(text: str) -> str:
    """Return a text with as many lines and nothing of its code."""
    for pattern in (_FENCED, _CODE):
        text = pattern.sub(_blank, text)
    return text


def _find_links(text: str) -> Iterator[TextLink]:
    for pattern, is_wiki in ((_WIKI, True), (_FILE, False)):
        for match in pattern.finditer(text):
            yield TextLink(
                match[match.lastindex or 1].strip(), text.count("\n", 0, match.start()) + 1, is_wiki
            )


def _blank(match: re.Match[str]) -> str:
    """As many lines, with nothing in them."""
    return "\n" * match[0].count("\n")
