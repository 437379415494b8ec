"""What was measured of one set: sizes, answers of every variant, and which question is of which kind and unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import scoring
from recall_asking import Answers, Asked, K, Sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval_set import RetrievalSet


class Report(NamedTuple):
    """One set, or several stores that are one set (`units`: query id → the number of its store)."""

    name: str
    sizes: Sizes
    judged: dict[str, dict[str, int]]
    kinds: dict[str, str]
    units: dict[str, int]
    asked: dict[str, Asked]

    def quality(self, variant: str, kind: str = "") -> scoring.Quality:
        """The measures over the questions of a kind, or over all."""
        rankings = self.asked[variant].rankings
        chosen = {
            query: ranked for query, ranked in rankings.items() if not kind or self.kinds.get(query) == kind
        }
        return scoring.quality(chosen, self.judged)

    def ndcg(self, variant: str, queries: Sequence[str]) -> list[float]:
        """nDCG@10 of each of these questions."""
        rankings = self.asked[variant].rankings
        return [scoring.ndcg(rankings[query], self.judged[query], K) for query in queries]

    def as_dict(self) -> dict[str, Any]:
        """The figures for a program."""
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
            "answerable": _counts(asked.strengths.values()),
            "unanswerable": _counts(asked.unanswered),
        }


def of_one(found: RetrievalSet, answers: Answers) -> Report:
    """The report of a set in one store."""
    return Report(found.name, answers.sizes, found.judged, found.kinds, {}, answers.asked)


def of_units(parts: Sequence[tuple[RetrievalSet, Answers]]) -> Report:
    """The report of sets that are asked each by itself and scored together."""
    judged, kinds, units = {}, {}, {}
    asked = {name: Asked({}, {}, [], []) for name in parts[0][1].asked}
    for number, (found, answers) in enumerate(parts):
        for query, grades in found.judged.items():
            judged[f"{number}/{query}"] = grades
            units[f"{number}/{query}"] = number
        kinds |= {f"{number}/{query}": kind for query, kind in found.kinds.items()}
        for name, one in answers.asked.items():
            asked[name].rankings.update({f"{number}/{query}": got for query, got in one.rankings.items()})
            asked[name].strengths.update({f"{number}/{query}": said for query, said in one.strengths.items()})
            asked[name].unanswered.extend(one.unanswered)
            asked[name].times.extend(one.times)
    return Report(
        parts[0][0].name, _together([answers.sizes for _, answers in parts]), judged, kinds, units, asked
    )


def _together(sizes: Sequence[Sizes]) -> Sizes:
    return Sizes(
        sum(one.documents for one in sizes),
        sum(one.cut for one in sizes),
        sum(one.masked for one in sizes),
        [why for one in sizes for why in one.refused],
    )


def _counts(said: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for strength in said:
        if strength:
            found[strength] = found.get(strength, 0) + 1
    return found
