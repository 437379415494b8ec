"""The parts of a note that are indexed besides its fields: names, links and tags in its text and file name."""

from __future__ import annotations

from engram.domain.entry.lore import searchable
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.entry.lore import Lore
    from engram.domain.entry.note_markup import NoteMarkup
    from engram.usecases.store.store import Store


def markup_of(store: Store, path: str, file: LoreFile) -> NoteMarkup | None:
    """Return the markup of a note in place, or of one with aliases elsewhere; None for any other entry."""
    if store.places.folder and not file.aliases:
        return None
    from engram.domain.entry.note_markup import read_markup

    properties = file.raw.decode() if b"[[" in file.raw else ""
    return read_markup(path, file.lore.content, file.aliases, file.lore.tags, properties)


def indexed_text(lore: Lore, markup: NoteMarkup | None) -> str:
    """Return the text from which words and vectors are made."""
    text = searchable(lore)
    if markup is None:
        return text
    return "\n".join([text, *(name for name in markup.names if name not in lore.content)])
