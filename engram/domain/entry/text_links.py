"""Links in the text of an entry file: wiki links such as `[[queue consumers]]`, and markdown links to other files."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRONTMATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t\r]*$", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,4})(?!`)[^\n]{1,1000}?(?<!`)\1(?!`)")
_WIKI = re.compile(r"(?<!\[)\[\[(?!\s)([^\[\]\n|#]{1,200})(?:[#|][^\[\]\n]{0,200})?\]\](?!\])")
_FILE_START = r"(?![\w+.-]{2,20}:|[/#\\<\[])"
_FILE = re.compile(
    rf"\[[^\[\]\n]{{0,200}}\]\((?:<{_FILE_START}([^<>\n#]{{1,300}})|{_FILE_START}((?:[^()\s>#]|\([^()\s>#]{{0,99}}\)){{1,300}}))"
)
_PROPERTY_LINK = re.compile(r"""(["'])\[\[(?!\s)([^\[\]\n|#"']{1,200})(?:[#|][^\[\]\n]{0,200})?\]\]\1""")


class TextLink(NamedTuple):
    """A link: its target as written, its line (from 1), and whether it is a wiki link (else a markdown link to a file)."""

    target: str
    line: int
    is_wiki: bool


def text_links(text: str) -> list[TextLink]:
    """Return the links in a whole file in order, except those in frontmatter or code and web addresses."""
    if "[[" not in text and "](" not in text:
        return []
    return sorted(_find_links(without_code(_FRONTMATTER.sub(_blank, text))), key=lambda link: link.line)


def property_links(text: str) -> list[str]:
    """Return the targets of links in properties, which Obsidian writes in quotes."""
    fields = _FRONTMATTER.match(text)
    return [match[2].strip() for match in _PROPERTY_LINK.finditer(fields[0])] if fields else []


def without_code(text: str) -> str:
    """Blank the code in a text; its line count stays the same."""
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
    """Return as many empty lines."""
    return "\n" * match[0].count("\n")
