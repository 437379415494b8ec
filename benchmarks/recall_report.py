"""The report of a set: sizes, the answers of every variant, and the kind and unit of each question."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import scoring
from recall_asking import Answers, Asked, K, Sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recall_asking import Reply
    from retrieval_set import RetrievalSet


class Report(NamedTuple):
    """The report of a set in one store, or in several (`units`: query id → number of its store)."""

    name: str
    sizes: Sizes
    judged: dict[str, dict[str, int]]
    kinds: dict[str, str]
    units: dict[str, int]
    asked: dict[str, Asked]

    def quality(self, variant: str, kind: str = "") -> scoring.Quality:
        """Return the measures over the questions of a kind, or over all."""
        chosen = {
            query: reply.ids
            for query, reply in self.asked[variant].replies.items()
            if not kind or self.kinds.get(query) == kind
        }
        return scoring.quality(chosen, self.judged)

    def ndcg(self, variant: str, queries: Sequence[str]) -> list[float]:
        """Return nDCG@10 of each of these questions."""
        replies = self.asked[variant].replies
        return [scoring.ndcg(replies[query].ids, self.judged[query], K) for query in queries]

    def any_found(self, variant: str, k: int, kind: str = "") -> float:
        """Return the share of answerable questions, of a kind or all, with a right document among the first `k`."""
        replies = self.asked[variant].replies
        asked = [query for query in replies if not kind or self.kinds.get(query) == kind]
        hits = [scoring.recall(replies[query].ids, self.judged[query], k) > 0 for query in asked]
        return sum(hits) / max(1, len(hits))

    def found(self, variant: str) -> set[str]:
        """Return the answerable questions with a right document among the first ten."""
        replies = self.asked[variant].replies
        return {query for query, reply in replies.items() if scoring.recall(reply.ids, self.judged[query], K)}

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "name": self.name,
            "sizes": self.sizes._asdict(),
            "variants": {name: self._figures(name) for name in self.asked},
        }

    def _figures(self, variant: str) -> dict[str, Any]:
        asked = self.asked[variant]
        kinds = dict.fromkeys(self.kinds.values())
        return {
            "quality": self.quality(variant)._asdict(),
            "kinds": {kind: self.quality(variant, kind)._asdict() for kind in kinds},
            "p50_ms": scoring.percentile(asked.times, 0.5),
            "p99_ms": scoring.percentile(asked.times, 0.99),
            "found": len(self.found(variant)),
            "answerable": strengths(asked.replies.values()),
            "unanswerable": strengths(asked.unanswered),
        }


def of_one(found: RetrievalSet, answers: Answers) -> Report:
    """Return the report of a set in one store."""
    return Report(found.name, answers.sizes, found.judged, found.kinds, {}, answers.asked)


def of_units(parts: Sequence[tuple[RetrievalSet, Answers]]) -> Report:
    """Return the report of sets that were queried separately and are scored together."""
    judged: dict[str, dict[str, int]] = {}
    kinds: dict[str, str] = {}
    units: dict[str, int] = {}
    asked = {name: Asked({}, [], []) for name in parts[0][1].asked}
    for number, (found, answers) in enumerate(parts):
        for query, grades in found.judged.items():
            judged[f"{number}/{query}"] = grades
            units[f"{number}/{query}"] = number
        kinds |= {f"{number}/{query}": kind for query, kind in found.kinds.items()}
        for name, one in answers.asked.items():
            asked[name].replies.update({f"{number}/{query}": reply for query, reply in one.replies.items()})
            asked[name].unanswered.extend(one.unanswered)
            asked[name].times.extend(one.times)
    return Report(
        parts[0][0].name, _add_up([answers.sizes for _, answers in parts]), judged, kinds, units, asked
    )


def _add_up(sizes: Sequence[Sizes]) -> Sizes:
    return Sizes(
        sum(one.documents for one in sizes),
        sum(one.cut for one in sizes),
        sum(one.masked for one in sizes),
        [reason for one in sizes for reason in one.refused],
    )


def strengths(replies: Iterable[Reply]) -> dict[str, int]:
    """Count replies by strength; those of bare BM25 have none."""
    return dict(Counter(reply.strength for reply in replies if reply.strength))
