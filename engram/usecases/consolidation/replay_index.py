"""A generation in memory, as a rehearsal asks it: what was looked up stays, and lore can have another status.

Past queries are asked again and again, and what a step changes is known: which rows. So a query that looked at none
of them has the answer that it had.
"""

from __future__ import annotations

from engram.adapters.index.cosines import Cosines
from engram.adapters.numeric import numpy_module
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall import rerank
from engram.usecases.recall.relevance import Relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.row_details import Link
    from engram.adapters.index.words import WordHits
    from engram.usecases.recall.rerank import Neighbours, TokenMatch, TokenQuery

Facts = tuple[str, int]

_MEMORY = 256_000_000  # bytes of cosines that are kept: those of 640 queries of 100,000 lore


class RehearsedIndex:
    """A generation that no other process changes: each query's words and vectors are looked up once.

    It is its own words, vectors and catalog: what `search.search_index` asks of a generation. `looked_at` collects the rows
    that were looked at since it was emptied.
    """

    def __init__(self, generation: Generation, facts: Mapping[str, Facts]) -> None:
        """`facts` are the status and confidence (thousandths) that lore have here, by path, in place of their own."""
        self._words, self._vectors = generation.words, generation.vectors
        self.words = self.catalog = self
        self.vectors = self if self._vectors is not None else None
        self.next_row, self.next_slot = generation.next_row, generation.next_slot
        self._most = _MEMORY // (4 * max(1, generation.next_row))
        self.has_links = generation.has_links
        self._ranks = generation.ranks()
        self._read_tokens, self._linked = generation.catalog.tokens, generation.catalog.linked
        self._hits = {hit.row: hit for hit in generation.catalog.select("1")}
        self._rows = {hit.path: row for row, hit in self._hits.items()}
        self._found: dict[tuple[tuple[str, ...], int], WordHits] = {}
        self._cosines: dict[bytes, Cosines] = {}
        self._terms: dict[str, list[str]] = {}
        self._closer: dict[str, dict[int, tuple[dict[int, float] | None, TokenMatch | None]]] = {}
        self._tokens: dict[int, bytes] = {}
        self._orders: dict[tuple[int, int, float], tuple[WordHits, Cosines | None, Relevance]] = {}
        self.looked_at: set[int] = set()
        self.set_facts(facts)

    def set_facts(self, facts: Mapping[str, Facts]) -> set[int]:
        """Have these lore this status and confidence; the rows of those that have another now."""
        changed = set()
        for path, (status, confidence) in facts.items():
            row = self._rows.get(path, -1)
            hit = self._hits.get(row)
            if hit is not None and (hit.status, hit.confidence) != (status, confidence):
                self._hits[row] = hit._replace(status=status, confidence=confidence)
                changed.add(row)
        return changed

    def ranks(self, nodes: Iterable[str]) -> dict[str, float]:
        """How important the graph makes these lore, by id."""
        known = self._ranks
        return {node: known[node] for node in nodes if node in known} if known else {}

    def revise(self, revised: Callable[[Hit], Hit]) -> None:
        """Have each line be what `revised` makes of it."""
        self._hits = {row: revised(hit) for row, hit in self._hits.items()}

    def hits(self, rows: Iterable[int]) -> list[Hit]:
        """The lines of these rows, as the catalog would give them."""
        asked = [*rows]
        self.looked_at.update(asked)
        known = self._hits
        return [known[row] for row in asked if row in known]

    def linked(self, rows: Sequence[int]) -> list[Link]:
        """As `Catalog.linked`, with the status that lore have here."""
        found = self._linked(rows)
        self.looked_at.update([link.other for link in found])
        return [
            link._replace(status=self._hits[link.other].status) for link in found if link.other in self._hits
        ]

    def tokens(self, rows: Sequence[int]) -> dict[int, bytes]:
        """As `Catalog.tokens`, none (b"") included."""
        known = self._tokens
        new = [row for row in rows if row not in known]
        known |= dict.fromkeys(new, b"") | self._read_tokens(new)
        return {row: known[row] for row in rows}

    def order(
        self, found: WordHits, cosines: Cosines | None, allowed: set[int] | None, weight: float
    ) -> Relevance:
        """As `Relevance`, with the order that was found before."""
        if allowed is not None:
            return Relevance(found, cosines, allowed, weight)
        key = id(found), id(cosines), weight
        _, _, order = self._orders.get(key, (found, cosines, None))
        if order is None:
            order = Relevance(found, cosines, None, weight)
            if len(self._orders) < self._most:
                self._orders[key] = found, cosines, order  # holding both, their ids stay their own
        return order

    def look(
        self, asked: TokenQuery, generation: Generation, near: Neighbours, rows: Sequence[int]
    ) -> dict[int, TokenMatch]:
        """As `rerank.match_tokens`, of rows that were not looked at before for this question with these neighbours."""
        known = self._closer.setdefault(asked.text, {})
        new = [row for row in rows if row not in known or known[row][0] != near.get(row)]
        if new:
            found = rerank.match_tokens(asked, generation, near, new)
            known |= {row: (near.get(row), found.get(row)) for row in new}
        return {row: closer for row in rows if (closer := known[row][1]) is not None}

    def weigh(self, words: Sequence[str], found: WordHits) -> list[tuple[float, bool]]:
        """As `Words.weigh`."""
        return self._words.weigh(words, found)

    def terms(self, text: str) -> list[str]:
        """As `Words.terms`."""
        known = self._terms.get(text)
        if known is None:
            known = self._terms[text] = self._words.terms(text)
        return known

    def search(self, terms: Sequence[str], limit: int) -> WordHits:
        """As `Words.search`."""
        key = (tuple(terms), limit)
        if key not in self._found:
            self._found[key] = self._words.search(terms, limit)
        return self._found[key]

    def look_up(self, vectors: numpy.ndarray) -> None:
        """Find the cosines of many queries' vectors (n x d) at once, as far as there is memory for them."""
        if self._vectors is None:
            return
        most = self._most - len(self._cosines)
        unknown = [vector for vector in vectors if vector.any() and vector.tobytes() not in self._cosines]
        wanted = unknown[: max(0, most)]
        if wanted:
            found = self._vectors.cosines_of(numpy_module().stack(wanted), self.next_row, self.next_slot)
            self._cosines.update(
                (vector.tobytes(), Cosines(every)) for vector, every in zip(wanted, found, strict=True)
            )

    def cosines(self, vector: numpy.ndarray, rows: int, slots: int) -> Cosines:
        """As `VectorFile.cosines`."""
        key = vector.tobytes()
        found = self._cosines.get(key)
        if found is None:
            assert self._vectors is not None
            found = self._vectors.cosines(vector, rows, slots)
            if len(self._cosines) < self._most:
                self._cosines[key] = found
        return found
