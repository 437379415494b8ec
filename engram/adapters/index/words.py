"""The word index: tantivy's BM25 over analysed words; user text never reaches tantivy's query parser.

`"(" * 3000` segfaults that parser and `what is: * foo` raises inside it, so queries are built from the analyser's own
terms. Changes not yet in the word index are in a `Delta`, and every search covers both.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from functools import cache

import tantivy

from engram.adapters.index.delta import K1, Delta, Indexed, bm25_idf
from engram.domain.text.languages import ENGLISH, LANGUAGES, language_of
from engram.domain.text.scripts import beyond_punctuation, cjk_run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

MAX_TERMS = 48
_SHORTEST_MISSPELT = 5
_MISSPELT_WEIGHT = 0.7
_MANY = 5000  # texts; with more than these it pays to ignore terms that most of them have
_COMMON_SHARE = 0.5  # of the texts
_MISSPELT_SHARE = 0.5  # of the weight of a term in a perfect match: the intended word is less rare
_TYPICAL_TERM = 1.3  # the score of a single occurrence, in idf; a fuzzy query scores 1 for any match
_MOST_TRIED = 1000  # terms, until one occurs in a text that was not removed
_MOST_REMEMBERED = 4096  # words; about 1 MB
_ANALYSER = "engram"
_BULK_HEAP = 128_000_000
_SMALL_HEAP = 15_000_000
_MOST_ROWS = 1 << 62


class WordHits(NamedTuple):
    """Rows with their BM25 scores, best first, the score of a perfect match of all terms, and each term's idf.

    `misspelt` are the terms without a match if some row has a term close to one of them: one typo suggests others.
    """

    scores: dict[int, float]
    perfect: float
    rarity: dict[str, float]
    misspelt: frozenset[str] = frozenset()


@cache
def _analyser(language: str = ENGLISH) -> tantivy.TextAnalyzer:
    """Return the analyser for a language. Except in English, stemming comes before folding: its suffixes have accents."""
    stem, fold = tantivy.Filter.stemmer(language), tantivy.Filter.ascii_fold()
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(80),
        tantivy.Filter.lowercase(),
        *((fold, stem) if language == ENGLISH else (stem, fold)),
    ):
        builder = builder.filter(step)
    return builder.build()


def _language_term(language: str) -> str:
    """Return the term that marks every text in a language other than English; no analyser yields it."""
    return f" {language}"


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=False, indexed=True, fast=True)
    builder.add_text_field("text", stored=False, tokenizer_name=_ANALYSER, index_option="freq")
    return builder.build()


class Words:
    """One generation's word index in a folder of its own."""

    def __init__(self, folder: str, *, create: bool = False) -> None:
        """Open or create a word index. Raises ValueError (or tantivy's PanicException) if the files are damaged."""
        if create:
            os.makedirs(folder)
            self._index = tantivy.Index(_schema(), path=folder)
        else:
            self._index = tantivy.Index.open(folder)
        self._analyser = _analyser()
        self._index.register_tokenizer(_ANALYSER, self._analyser)
        self._schema = self._index.schema
        self._writer: tantivy.IndexWriter | None = None
        self.delta = Delta(Indexed(_MOST_ROWS))
        self._last = ""
        self.reload()

    def reload(self) -> None:
        """Read what was committed since."""
        self._index.reload()
        self._searcher = self._index.searcher()
        self._languages: tuple[tuple[int, int], list[str]] | None = None
        self._terms_of: dict[str, list[str]] = {}  # of words in queries; they depend on the indexed texts

    @property
    def count(self) -> int:
        """The number of searchable texts."""
        return self._searcher.num_docs - len(self.delta.stale) + len(self.delta)

    def begin(self, *, bulk: bool) -> None:
        """Start changing the index. Raises ValueError if another process is doing so."""
        self._writer = self._index.writer(_BULK_HEAP if bulk else _SMALL_HEAP, 1)

    def add(self, row: int, text: str) -> None:
        """Add one text under its row."""
        if language_of(text) != ENGLISH:
            self.add_terms(row, terms_of(text))
            return
        document = tantivy.Document()
        document.add_unsigned("row", row)
        self._last = stored_form(text)
        document.add_text("text", self._last)
        assert self._writer is not None
        self._writer.add_document(document)

    def add_terms(self, row: int, terms: Mapping[str, int]) -> None:
        """Add one text under its row, given only its terms and how often each occurs."""
        document = tantivy.Document()
        document.add_unsigned("row", row)
        tokens = [tantivy.Token(term, 0, 0) for term, count in terms.items() for _ in range(count)]
        document.add_pre_tokenized_text("text", tantivy.PreTokenizedString("", tokens))
        assert self._writer is not None
        self._writer.add_document(document)

    def remove(self, rows: Sequence[int]) -> None:
        """Remove texts by row. Uses a query: tantivy-py's deletion by term does not match unsigned fields."""
        assert self._writer is not None
        for row in rows:
            self._writer.delete_documents_by_query(tantivy.Query.term_query(self._schema, "row", row))

    def remove_from(self, row: int) -> int:
        """Remove every text from `row` on, which a killed writer added and the catalog does not have; return their number."""
        assert self._writer is not None
        self._writer.delete_documents_by_query(self._rows_from(row))
        return self.count_from(row)

    def count_before(self, row: int) -> int:
        """Count the texts before `row` in the word index itself."""
        return self._searcher.num_docs - self.count_from(row)

    def count_from(self, row: int) -> int:
        """Count the texts from `row` on in the word index itself."""
        return int(self._searcher.search(self._rows_from(row), limit=1, count=True).count)  # type: ignore[attr-defined]

    def _rows_from(self, row: int) -> tantivy.Query:
        return tantivy.Query.range_query(self._schema, "row", tantivy.FieldType.Unsigned, row, None)

    def commit(self) -> None:
        """Make the changes searchable; afterwards no file changes, and another process may begin."""
        assert self._writer is not None
        self._writer.commit()
        self._writer.wait_merging_threads()
        self.reload()

    def indexed(self, rows: int) -> Indexed:
        """Return tantivy's own statistics, which are available only from the explanation of a score."""
        for term in self._some_terms():
            query = self._term_query(term)
            if hits := self._searcher.search(query, limit=1, count=False).hits:
                values = _explained_values(json.loads(query.explain(self._searcher, hits[0][1]).to_json()))
                return Indexed(rows, int(values["N"]), values["avgdl"])
        return Indexed(rows)

    def _some_terms(self) -> Iterator[str]:
        """Yield some terms of the index, first those of the text added last: listing others takes time."""
        yield from self._analyser.analyze(self._last)
        for term, _ in self._searcher.terms_with_prefix("text", "", limit=_MOST_TRIED):
            yield term

    def abandon(self) -> None:
        """Drop uncommitted changes; another process may begin."""
        self._writer = None

    def terms(self, text: str, limit: int = MAX_TERMS) -> list[str]:
        """Return the analysed terms of a text, each once; if there are more than `limit`, the rarest ones."""
        found = list(dict.fromkeys(self._analyse(text)))
        if len(found) <= limit:
            return found
        counts = {term: self._frequency(term) for term in found}
        rarest = set(sorted(found, key=lambda term: (counts[term] == 0, counts[term]))[:limit])
        return [term for term in found if term in rarest]

    def _analyse(self, text: str) -> list[str]:
        """Return the terms of a query or of a word of it, in order.

        In a store with texts in other languages, the stem of a word is the one that occurs in most texts.
        """
        form = query_form(text, self._is_indexed)
        found: list[str] = self._analyser.analyze(form)
        others = self._other_languages()
        if not others:
            return found
        forms = zip(found, *(_analyser(name).analyze(form) for name in others), strict=True)
        return [max(dict.fromkeys(stems), key=self._frequency) for stems in forms]

    def _other_languages(self) -> Sequence[str]:
        """Return the languages of the texts here except English; cached until texts change, since each word needs them."""
        state = len(self.delta), max(self.delta.texts, default=-1)
        if self._languages is None or self._languages[0] != state:
            self._languages = state, [name for name in LANGUAGES if self._frequency(_language_term(name))]
            self._terms_of.clear()
        return self._languages[1]

    def _is_indexed(self, name: str) -> bool:
        return any(self._frequency(term) for term in self._analyser.analyze(name))

    def _frequency(self, term: str) -> int:
        return self._searcher.doc_freq("text", term) + self.delta.frequency(term)

    def weigh(self, words: Sequence[str], found: WordHits) -> list[tuple[float, bool]]:
        """Return the idf of each word's rarest term and whether that is misspelt; (0, False) for a word not searched for."""
        self._other_languages()  # clears cached terms if texts changed
        rarity, misspelt, known = found.rarity, found.misspelt, self._terms_of
        if len(known) > _MOST_REMEMBERED:
            known.clear()
        for word in words:
            if word not in known:
                known[word] = self._analyse(word)
        return [
            max(
                ((rarity.get(term, 0.0), term in misspelt) for term in known[word]),
                default=(0.0, False),
            )
            for word in words
        ]

    def search(self, terms: Sequence[str], limit: int) -> WordHits:
        """Return BM25 scores of the best `limit` rows for any of the terms; long terms without matches also find close ones.

        `perfect = Σ idf·(k1 + 1)` over all terms, including unknown ones: the bound that a row's score
        approaches if it has every term often (Robertson/Zaragoza 2009, idf as in Lucene and tantivy). If a term
        is misspelt, all terms without matches count half: most of them are misspelt beyond recognition. In
        stores of more than 5,000 entries, terms that occur in more than half of the texts are ignored unless the
        query has no others: they hardly change the order, and take a quarter of the time at 100,000.
        """
        total = self.count
        frequency = {term: self._frequency(term) for term in terms}
        rarity = {term: _idf(total, count) for term, count in frequency.items()}
        known = [term for term in terms if frequency[term]]
        most_common = total if total <= _MANY else int(_COMMON_SHARE * total)
        searched = {term: frequency[term] for term in known if frequency[term] <= most_common}
        searched = searched or {term: frequency[term] for term in known}
        unknown = [term for term in terms if not frequency[term]]
        close = [found for term in unknown if (found := self._find_close(term, total)) is not None]
        misspelt = frozenset(unknown if close else ())
        for term in misspelt:
            rarity[term] *= _MISSPELT_SHARE
        perfect = (K1 + 1) * sum(rarity.values())
        if not (searched or close) or not limit:
            return WordHits({}, perfect, rarity, misspelt)
        scores = self._scores(self._subqueries(searched, close), limit)
        if len(self.delta):
            scores = self._with_delta(scores, searched, close, limit)
        return WordHits(scores, perfect, rarity, misspelt)

    def _subqueries(self, searched: Mapping[str, int], close: Sequence[_Close]) -> list[tantivy.Query]:
        """Return the queries for these terms (given their frequencies in all texts) and for close terms."""
        fuzzy = [tantivy.Query.boost_query(one.query, one.weight) for one in close]
        if not len(self.delta):
            return [*map(self._term_query, searched), *fuzzy]
        documents = self.delta.indexed.documents
        exact = []
        for term, count in searched.items():
            if indexed_count := self._searcher.doc_freq("text", term):
                idf = bm25_idf(documents + len(self.delta), count)
                boost = self.delta.boost(idf, bm25_idf(documents, indexed_count))
                exact.append(tantivy.Query.boost_query(self._term_query(term), boost))
        return exact + fuzzy

    def _scores(self, subqueries: Sequence[tantivy.Query], limit: int) -> dict[int, float]:
        """Return the scores of the best texts in the word index itself."""
        if not subqueries or not self._searcher.num_docs:
            return {}
        query = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in subqueries])
        most = min(limit + len(self.delta.stale), self._searcher.num_docs)
        hits = self._searcher.search(query, limit=most, count=False).hits
        if not hits:
            return {}
        best, addresses = zip(*hits, strict=True)
        rows = self._searcher.fast_field_values("row", list(addresses))
        scores: dict[int, float] = dict(zip(rows, best, strict=True))  # type: ignore[arg-type]  # of whole numbers
        if self.delta.is_empty:
            return scores
        return {row: score for row, score in scores.items() if not self.delta.hides(row)}

    def _with_delta(
        self, scores: dict[int, float], searched: Mapping[str, int], close: Sequence[_Close], limit: int
    ) -> dict[int, float]:
        """Return the best of the scores of the word index and of the new texts."""
        documents = self.delta.indexed.documents + len(self.delta)
        new = self.delta.scores({term: bm25_idf(documents, count) for term, count in searched.items()})
        for one in close:
            for row in one.new_rows:
                new[row] = new.get(row, 0.0) + one.weight
        ranked = sorted((scores | new).items(), key=lambda item: (-item[1], item[0]))
        return dict(ranked[:limit])

    def frequency(self, word: str) -> int:
        """Return the number of texts with a word."""
        return min((self._frequency(term) for term in self._analyse(word)), default=0)

    def rows_with(self, text: str, most: int) -> list[int]:
        """Return the rows that have every word of a text; none if there are more than `most`."""
        terms = list(dict.fromkeys(self._analyse(text)))
        if not terms or not all(map(self._frequency, terms)):
            return []
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, self._term_query(term)) for term in terms])
        return self._rows_of(query, self.delta.rows_with(terms), most)

    def rows_close_to(self, word: str, most: int) -> list[int]:
        """Return the rows with a word one edit away from a longer word without matches; none if there are more than `most`."""
        terms = self._analyse(word)
        if len(terms) != 1 or len(terms[0]) < _SHORTEST_MISSPELT or self._frequency(terms[0]):
            return []
        query = tantivy.Query.fuzzy_term_query(self._schema, "text", terms[0], distance=1)
        return self._rows_of(query, self.delta.rows_close_to(terms[0]), most)

    def _rows_of(self, query: tantivy.Query, new: list[int], most: int) -> list[int]:
        """Return the rows that a query finds, with those of the new texts; none if there are more than `most`."""
        limit = most + 1 + len(self.delta.stale)
        if hits := self._searcher.search(query, limit=limit, count=False).hits:
            addresses = [address for _, address in hits]
            rows: list[int] = self._searcher.fast_field_values("row", addresses)  # type: ignore[assignment]  # as above
            new += [row for row in rows if not self.delta.hides(row)]
        return new if len(new) <= most else []

    def _term_query(self, term: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, "text", term, "freq")

    def _find_close(self, term: str, total: int) -> _Close | None:
        """Return a query for words one edit away from a term without matches, at 0.7 of its weight; None if it finds none."""
        if len(term) < _SHORTEST_MISSPELT or not term.isalpha():
            return None
        query = tantivy.Query.fuzzy_term_query(self._schema, "text", term, distance=1)
        new_rows = self.delta.rows_close_to(term) if len(self.delta) else []
        found = len(new_rows)
        if self._searcher.num_docs:
            found += self._searcher.search(query, limit=1, count=True).count  # type: ignore[attr-defined]
        if not found:
            return None
        return _Close(query, _MISSPELT_WEIGHT * _TYPICAL_TERM * _idf(total, found), new_rows)


class _Close(NamedTuple):
    """Words close to a misspelt one: the query for them, its score for each match, and the new texts that match."""

    query: tantivy.Query
    weight: float
    new_rows: list[int]


def terms_of(text: str) -> dict[str, int]:
    """Return the terms by which a text is found, and how often each occurs."""
    language = language_of(text)
    found = dict(Counter(_analyser(language).analyze(stored_form(text))))
    return found if language == ENGLISH else found | {_language_term(language): 1}


def _explained_values(explanation: dict[str, Any]) -> dict[str, float]:
    """Return the values in the explanation of a score, by the first part of their descriptions."""
    values = {explanation["description"].split(",")[0]: float(explanation["value"])}
    for part in explanation.get("details") or ():
        values |= _explained_values(part)
    return values


def _idf(total: int, frequency: int) -> float:
    """Return the idf; a term without matches counts as in one text, or it would outweigh the others in a small store."""
    frequency = max(1, frequency)
    return math.log(1 + (total - min(frequency, total) + 0.5) / (frequency + 0.5))


# Texts are prepared before tantivy's own analysis, whose Python package does neither of this: names are followed by their
# parts, and scripts without spaces become pairs of characters.

# A boundary within a name: `parseHeader`, `HTTPServer`; not `APIs`. Matching the capital first takes a sixth of the time.
_BOUNDARY = re.compile(r"[A-Z](?:(?<=[a-z][A-Z])|(?<=[A-Z]{2})[a-z]{2})")
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*?(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# The kind of each character: "a" a small letter, "A" a capital, "0" a digit, " " any other.
_KINDS = bytes(
    next((kind for first, last, kind in (b"aza", b"AZA", b"090") if first <= byte <= last), 32)
    for byte in range(256)
)


def stored_form(text: str) -> str:
    """Return a text as it is stored: with the parts of its names appended, and runs of characters as pairs."""
    found = names(text)
    return character_pairs(" ".join([text, *_PART.findall(" ".join(found))]) if found else text)


def names(text: str) -> list[str]:
    """Return the names in a text that have parts, in order: the same as `_NAME` finds, in a twentieth of the time."""
    kinds = text.encode("ascii", "replace").translate(_KINDS) + b" "
    found = []
    small, capital = kinds.find(b"aA"), kinds.find(b"AAaa")
    while max(small, capital) >= 0:
        place = min(small, capital) if min(small, capital) >= 0 else max(small, capital)
        start, end = kinds.rfind(b" ", 0, place) + 1, kinds.find(b" ", place)
        found.append(text[start:end])
        small = kinds.find(b"aA", end) if 0 <= small < end else small
        capital = kinds.find(b"AAaa", end) if 0 <= capital < end else capital
    return found


def query_form(text: str, is_indexed: Callable[[str], bool]) -> str:
    """Return a text as it is searched: names such as `parseHeader` that are not indexed are replaced by their parts."""
    if not _BOUNDARY.search(text):
        return character_pairs(text)
    return character_pairs(
        _NAME.sub(lambda name: name[0] if is_indexed(name[0]) else " ".join(_PART.findall(name[0])), text)
    )


def character_pairs(text: str) -> str:
    """Replace Chinese, Japanese or Korean text by pairs of neighbouring characters; a single character stays."""
    return text if text.isascii() or not beyond_punctuation().search(text) else cjk_run().sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    characters = run[0]
    pairs = [characters[place : place + 2] for place in range(len(characters) - 1)]
    return f" {' '.join(pairs or [characters])} "
