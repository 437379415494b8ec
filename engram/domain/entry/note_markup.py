"""What a note says in the markup of Obsidian and its like: its names, tags in its text, links to other notes."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping

from engram.domain.entry.named_files import file_name
from engram.domain.entry.refs import fold
from engram.domain.entry.text_links import TextLink, property_links, text_links, without_code
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeVar

    Lead = TypeVar("Lead")

# Not part of an address or a word; a digit alone is no tag.
_TAG = re.compile(r"(?<![\w/#&\]])#(?=[\w/-]*[^\W\d])([\w/-]{1,200})")
_ATTACHMENT = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|pdf|canvas|base|flac|m4a|mp3|ogg|wav|3gp|mkv|mov|mp4|ogv|webm|excalidraw)$",
    re.IGNORECASE,
)


_LATER = 3  # than every name in its very spelling

RULES_TAG = "agent-rules"  # of what agents read anyway: a brief does not repeat it
_RULES = ("claude.md", "claude.local.md", "agents.md", "gemini.md", "copilot-instructions.md")


class NoteMarkup(NamedTuple):
    """The names that a note answers to besides its title, its tags with those they are below, and the notes it links to.

    A link is what `follow_link` takes.
    """

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class Named(NamedTuple):
    """A note by what may lead to it: its key (an id or a path), path, title and aliases."""

    key: str
    path: str
    title: str
    aliases: tuple[str, ...] = ()


def read_markup(
    path: str, content: str, aliases: Iterable[str], tags: Iterable[str], properties: str = ""
) -> NoteMarkup:
    """Return what the text and the properties of the note at a path say; `tags` are those of its properties.

    `properties` is the file's frontmatter, whose values may be links.
    """
    found = [tag.strip("#/") for tag in (*tags, *inline_tags(content))]
    found += [RULES_TAG] if path.rpartition("/")[2].lower() in _RULES else []
    above = {"/".join(tag.split("/")[:depth]) for tag in found for depth in range(1, tag.count("/") + 2)}
    links = [link for link in text_links(content) if link.is_wiki or link.target.endswith(".md")]
    named = {link_name(path, link) for link in links if not is_attachment(link.target)}
    named |= {wiki_name(target) for target in property_links(properties) if not is_attachment(target)}
    return NoteMarkup(
        tuple(dict.fromkeys([file_name(path), *aliases])),
        tuple(sorted(above - {""})),
        tuple(sorted(named - {""})),
    )


def inline_tags(text: str) -> list[str]:
    """Return the tags in a text such as `#ops/pager`, each once, not those in code."""
    if "#" not in text:
        return []
    return list(dict.fromkeys(match[1] for match in _TAG.finditer(without_code(text))))


def is_attachment(target: str) -> bool:
    """Return whether a link leads to a picture, a canvas or another file that is no note."""
    return _ATTACHMENT.search(target) is not None


def targets(notes: Iterable[Named], *, in_place: bool) -> dict[str, list[str]]:
    """Return the keys of the notes that each name leads to, for `follow_link`.

    In place only one, as in Obsidian: a file name or path goes before an alias, and that before a title, and the very
    spelling before the same words (`C++` is not `C`); of several files of that name the one with the shortest path is meant.
    """
    found: dict[str, list[tuple[int, int, str, str]]] = {}
    for one in notes:
        parts = one.path.removesuffix(".md").split("/")
        ways = [(0, "/".join(parts[at:])) for at in range(len(parts) - 1 if not in_place else 0, len(parts))]
        ways += [(1, alias) for alias in one.aliases] + [(2, one.title)]
        for tier, name in ways:
            found.setdefault(fold(name), []).append((tier + _LATER, len(parts), one.path, one.key))
            if in_place:
                found.setdefault(_spelling(name), []).append((tier, len(parts), one.path, one.key))
        if in_place:
            found.setdefault(_spelling(f"/{ways[0][1]}"), []).append((0, len(parts), one.path, one.key))
    found.pop("", None)
    if in_place:
        return {name: [min(all_)[3]] for name, all_ in found.items()}
    return {name: list(dict.fromkeys(key for *_, key in all_)) for name, all_ in found.items()}


def follow_link(made: Mapping[str, Lead], link: str) -> Lead | None:
    """Return where a link leads, by names made by `targets`: the first of its ways, parted by `|`, that leads anywhere.

    One that begins with `/` is a path from the top of the store, any other a name or the end of a path.
    """
    for way in link.split("|"):
        found = made.get(_spelling(way))
        if found is None and not way.startswith("/"):
            found = made.get(fold(way))
        if found is not None:
            return found
    return None


def link_name(path: str, link: TextLink) -> str:
    """Return a link of a note as `follow_link` takes it: a markdown link means a file beside the note before one of that name."""
    if link.is_wiki:
        return wiki_name(link.target)
    from urllib.parse import unquote

    target = unquote(link.target.partition("?")[0]).removesuffix(".md")
    beside = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), target))
    return f"{beside}|{posixpath.normpath(target).lstrip('./')}"


def wiki_name(target: str) -> str:
    """Return the name that a wiki link leads to: without an ending, and the backslash that it has in a table."""
    return target.rstrip("\\").removesuffix(".md").strip()


def _spelling(name: str) -> str:
    """Return a name as Obsidian compares names: without case, and however its accents are written."""
    return unicodedata.normalize("NFC", name).casefold()
