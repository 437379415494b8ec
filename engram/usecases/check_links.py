"""Links of lore that lead nowhere, or to more than one place."""

from __future__ import annotations

import os

from engram.adapters.files.scan import SKIPPED_AT_TOP
from engram.domain.errors import EngramError
from engram.domain.refs import fold
from engram.domain.text_links import text_links
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases import change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engram.adapters.files.codec import LoreFile
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.domain.text_links import TextLink
    from engram.usecases.store import Store


class BadLink(NamedTuple):
    """A link that is broken or ambiguous: the store path and line of the lore that has it, and what is wrong."""

    path: str
    line: int
    message: str


def bad_links(
    store: Store, generation: Generation, hits: Sequence[Hit], paths: Collection[str], gone: Collection[str]
) -> list[BadLink]:
    """Of the lore at `paths` every link that does not lead to one thing, of all others those to lore that are `gone`.

    `hits` are all lore of the store.
    """
    known, readable = {hit.id for hit in hits}, {hit.path for hit in hits}
    names: dict[str, set[str]] = {}
    found: list[BadLink] = []
    for path in sorted(readable & {*paths, *_naming(generation, hits, gone)}):
        try:
            file = change.load(store, path)
        except EngramError:
            continue  # that it cannot be read is told already
        found += _relations(path, file, known)
        text = file.raw.decode("utf-8", "replace")
        for link in text_links(text) if path in paths else ():
            if link.is_wiki and not names:
                names = _names(store, generation, hits)
            wrong = _wiki(link, names, known) if link.is_wiki else _file(store, path, link)
            found += [BadLink(path, link.line, wrong)] if wrong else []
    return found


def _naming(generation: Generation, hits: Sequence[Hit], ids: Collection[str]) -> set[str]:
    """The paths of lore with a relation to one of the ids."""
    asked = generation.catalog.where_in("SELECT row FROM row_relations", "id", sorted(ids))
    rows = {row for (row,) in asked}
    return {hit.path for hit in hits if hit.row in rows}


def _relations(path: str, file: LoreFile, known: Collection[str]) -> Iterator[BadLink]:
    lines = file.raw.decode("utf-8", "replace").split("\n")
    for kind, other in file.lore.relations:
        if other not in known:
            line = next((number for number, text in enumerate(lines, 1) if other in text), 0)
            yield BadLink(path, line, f"broken link: no lore here has the id {other} ({kind})")


def _names(store: Store, generation: Generation, hits: Sequence[Hit]) -> dict[str, set[str]]:
    """What a wiki link may name, and where each leads: titles and names of files, else an entity of some lore."""
    names: dict[str, set[str]] = {}
    for hit in hits:
        for name in (hit.title, _stem(hit.path)):
            names.setdefault(fold(name), set()).add(hit.path)
    for path in _other_files(store):
        names.setdefault(fold(_stem(path)), set()).add(path)
    for (entity,) in generation.catalog.connection.execute("SELECT DISTINCT entity FROM row_entities"):
        names.setdefault(fold(entity), {entity})
    return names


def _other_files(store: Store) -> Iterator[str]:
    """The files in the folders at the top of the lore folder that hold other things than lore."""
    for folder in sorted(SKIPPED_AT_TOP):
        absolute = store.files.absolute(f"{store.places.folder}/{folder}")
        if os.path.isdir(absolute) and not os.path.islink(absolute):
            names = sorted(name for name in os.listdir(absolute) if name.endswith(".md"))
            yield from (f"{store.places.folder}/{folder}/{name}" for name in names)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _wiki(link: TextLink, names: dict[str, set[str]], known: Collection[str]) -> str:
    """What is wrong with a wiki link; "" if nothing."""
    if link.target.upper() in known:
        return ""
    leads = sorted(names.get(fold(link.target), ()))
    if not leads:
        return f"broken link: nothing here is called [[{link.target}]]"
    more = f" and {len(leads) - 3} more" if len(leads) > 3 else ""
    return (
        f"ambiguous link: [[{link.target}]] may mean {', '.join(leads[:3])}{more}" if len(leads) > 1 else ""
    )


def _file(store: Store, path: str, link: TextLink) -> str:
    """What is wrong with a link to a file; "" if nothing. Nothing outside the repository is looked at."""
    from urllib.parse import unquote

    places = store.places
    top = os.path.realpath(places.repository.worktree if places.repository else places.root)
    target = unquote(link.target.partition("?")[0])
    wrong = f"broken link: there is no file {link.target}"
    if "\0" in target or "\\" in target:
        return wrong
    full = os.path.join(os.path.dirname(store.files.absolute(path)), *target.split("/"))
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        return wrong
    if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
        return f"broken link: {link.target} leads out of the repository"
    return "" if os.path.exists(real) else wrong
