"""Read the markup of notes as in Obsidian: names, tags in the text, links to other notes."""

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

# Not part of an address or a word, and not only digits.
_TAG = re.compile(r"(?<![\w/#&\]])#(?=[\w/-]*[^\W\d])([\w/-]{1,200})")
_ATTACHMENT = re.compile(
    r"\.(?:avif|bmp|gif|jpe?g|png|svg|webp|pdf|canvas|base|flac|m4a|mp3|ogg|wav|3gp|mkv|mov|mp4|ogv|webm|excalidraw)$",
    re.IGNORECASE,
)


_FOLDED_TIER = 3  # added to the tier of folded names, so that all exact spellings take precedence

RULES_TAG = "agent-rules"  # of files that agents read anyway, so a brief does not repeat them
_RULES = ("claude.md", "claude.local.md", "agents.md", "gemini.md", "copilot-instructions.md")


class NoteMarkup(NamedTuple):
    """The names of a note besides its title, its tags with their parents, and its links to notes, as for `follow_link`."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class Named(NamedTuple):
    """A note with all that links may name it by: its key (an id or a path), path, title and aliases."""

    key: str
    path: str
    title: str
    aliases: tuple[str, ...] = ()


def read_markup(
    path: str, content: str, aliases: Iterable[str], tags: Iterable[str], properties: str = ""
) -> NoteMarkup:
    """Read the markup in the text and the properties of the note at a path; `tags` are those of its properties.

    `properties` is the file's frontmatter, whose values may be links.
    """
    found = [tag.strip("#/") for tag in (*tags, *inline_tags(content))]
    found += [RULES_TAG] if path.rpartition("/")[2].lower() in _RULES else []
    all_tags = {"/".join(tag.split("/")[:depth]) for tag in found for depth in range(1, tag.count("/") + 2)}
    links = [link for link in text_links(content) if link.is_wiki or link.target.endswith(".md")]
    linked = {link_name(path, link) for link in links if not is_attachment(link.target)}
    linked |= {wiki_name(target) for target in property_links(properties) if not is_attachment(target)}
    return NoteMarkup(
        tuple(dict.fromkeys([file_name(path), *aliases])),
        tuple(sorted(all_tags - {""})),
        tuple(sorted(linked - {""})),
    )


def inline_tags(text: str) -> list[str]:
    """Return the tags in a text such as `#ops/pager`, without duplicates and those in code."""
    if "#" not in text:
        return []
    return list(dict.fromkeys(match[1] for match in _TAG.finditer(without_code(text))))


def is_attachment(target: str) -> bool:
    """Whether a link leads to a picture, a canvas or another file that is not a note."""
    return _ATTACHMENT.search(target) is not None


def targets(notes: Iterable[Named], *, in_place: bool) -> dict[str, list[str]]:
    """Map names to the keys of the notes they mean, for `follow_link`.

    In place there is one note for each, as in Obsidian: a file name or path takes precedence over an alias, an alias over a
    title, and the exact spelling over the same words (`C++` is not `C`); among files of one name, the shortest path wins.
    """
    found: dict[str, list[tuple[int, int, str, str]]] = {}
    for note in notes:
        parts = note.path.removesuffix(".md").split("/")
        names = [(0, "/".join(parts[at:])) for at in range(len(parts) - 1 if not in_place else 0, len(parts))]
        names += [(1, alias) for alias in note.aliases] + [(2, note.title)]
        for tier, name in names:
            found.setdefault(fold(name), []).append((tier + _FOLDED_TIER, len(parts), note.path, note.key))
            if in_place:
                found.setdefault(_spelling(name), []).append((tier, len(parts), note.path, note.key))
        if in_place:
            found.setdefault(_spelling(f"/{names[0][1]}"), []).append((0, len(parts), note.path, note.key))
    found.pop("", None)
    if in_place:
        return {name: [min(matches)[3]] for name, matches in found.items()}
    return {name: list(dict.fromkeys(key for *_, key in matches)) for name, matches in found.items()}


def follow_link(index: Mapping[str, Lead], link: str) -> Lead | None:
    """Resolve a link with the result of `targets`: the first of its names, separated by `|`, that has a target decides.

    A name that begins with `/` is a path from the top of the store; any other is a name or the end of a path.
    """
    for name in link.split("|"):
        found = index.get(_spelling(name))
        if found is None and not name.startswith("/"):
            found = index.get(fold(name))
        if found is not None:
            return found
    return None


def link_name(path: str, link: TextLink) -> str:
    """Return a link of a note for `follow_link`: a markdown link is first a path relative to the note, then a name."""
    if link.is_wiki:
        return wiki_name(link.target)
    from urllib.parse import unquote

    target = unquote(link.target.partition("?")[0]).removesuffix(".md")
    absolute = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), target))
    return f"{absolute}|{posixpath.normpath(target).lstrip('./')}"


def wiki_name(target: str) -> str:
    """Return the name in a wiki link, without the extension and the backslash used in tables."""
    return target.rstrip("\\").removesuffix(".md").strip()


def _spelling(name: str) -> str:
    """Normalize a name as Obsidian compares names: case and the encoding of accents do not matter."""
    return unicodedata.normalize("NFC", name).casefold()
