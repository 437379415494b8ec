"""The links of an entry: its own to other entries, and theirs to it."""

from __future__ import annotations

from engram.domain.graph.graph import LORE, MENTIONS
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph.graph_building import graph_of
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.hits import hits_of
from engram.usecases.lookup.resolve import resolve
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.usecases.store.store import Store

FOLDED = "merged_from"


class Link(NamedTuple):
    """A link: its kind (one of `RELATION_KINDS`, `merged_from` or `mentions`), the other entry's id and title ("" if missing).

    `back`: the link leads from the other entry to this one.
    """

    kind: str
    id: str
    title: str
    back: bool


def find_links(store: Store, name: str) -> list[Link]:
    """Find the links of an entry: its own in the order of the file, those from others by id, then those in texts.

    Raises NotFoundError, AmbiguousError, StoreError.
    """
    with store.lock:
        found = resolve(store, name)
        lore = entry_writer.load(found.store, found.path).lore
        targets = [(relation.kind, relation.id) for relation in lore.relations]
        targets += [(FOLDED, other) for other in lore.merged_from]
        titles = _titles(found.store, [other for _, other in targets])
    outgoing = [Link(kind, other, titles.get(other, ""), False) for kind, other in targets]
    incoming = sorted(_backlinks(found.store, found.id), key=lambda link: link.id)
    known = {(link.id, link.back) for link in outgoing + incoming}
    texts = [link for link in _text_links(found.store, found.id) if (link.id, link.back) not in known]
    return outgoing + incoming + texts


def _text_links(store: Store, lore_id: str) -> list[Link]:
    """Return the entries that the text links to, then those whose texts link to it, each group by title."""
    graph = graph_of(store)
    ends = [
        (edge.source == lore_id, edge.target if edge.source == lore_id else edge.source)
        for edge in graph.edges
        if edge.kind == MENTIONS and lore_id in (edge.source, edge.target) and edge.source != edge.target
    ]
    others = [(is_own, graph.nodes[key]) for is_own, key in dict.fromkeys(ends) if key in graph.nodes]
    found = [Link(MENTIONS, node.key, node.name, not is_own) for is_own, node in others if node.kind == LORE]
    return sorted(found, key=lambda link: (link.back, link.title, link.id))


def _titles(store: Store, ids: Sequence[str]) -> dict[str, str]:
    hits = query_index(store, lambda generation: hits_of(generation, ids)) if ids else {}
    return {lore_id: hit.title for lore_id, hit in hits.items()}


def _backlinks(store: Store, lore_id: str) -> Iterator[Link]:
    for path in _paths_with(store, lore_id):
        file = entry_writer.load_readable(store, path)
        if file is not None and file.lore.id != lore_id:
            for relation in file.lore.relations:
                if relation.id == lore_id:
                    yield Link(relation.kind, file.lore.id, file.lore.title, True)


def _paths_with(store: Store, text: str) -> list[str]:
    """Find the files that contain a text: committed files with git, uncommitted ones by reading them."""
    if store.places.repository is None:
        hits = query_index(store, lambda generation: generation.catalog.select("1"))
        return [hit.path for hit in hits if _contains(store, hit.path, text)]
    from engram.adapters.git.read.word_search import files_with
    from engram.usecases.store.version_paths import in_git, in_store

    repository = store.places.repository
    # The journal first: an entry committed in between is then found twice rather than never.
    waiting = [item.path for operation in store.files.journal.waiting() for item in operation.changes]
    found = files_with(repository, "HEAD", in_git(store, store.places.folder), text)
    uncommitted = [path for path in waiting if _contains(store, path, text)]
    return list(dict.fromkeys([*(in_store(store, name) for name in found), *uncommitted]))


def _contains(store: Store, path: str, text: str) -> bool:
    return text.encode() in (store.files.read_if_possible(path) or b"")
