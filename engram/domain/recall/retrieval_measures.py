"""Measures of answers to queries with known helpful entries, and their means."""

from __future__ import annotations

import math

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PENALTY = 0.25  # what an unhelpful entry subtracts; a helpful one adds 1


class Question(NamedTuple):
    """A query, the entries that helped with it, and those that did not."""

    text: str
    helpful: frozenset[str]
    unhelpful: frozenset[str]


class Quality(NamedTuple):
    """Means over queries: reciprocal rank of the first helpful entry, nDCG, share of the helpful entries shown.

    `helpful` is the number of helpful entries.
    """

    mrr: float
    ndcg: float
    recall: float
    helpful: int


class Interval(NamedTuple):
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def reciprocal_rank(question: Question, ids: Sequence[str]) -> float:
    """Return 1 divided by the rank of the first helpful entry; 0 without one."""
    return next((1 / place for place, lore_id in enumerate(ids, 1) if lore_id in question.helpful), 0.0)


def gain(question: Question, ids: Sequence[str], *, penalty: float = 0.0) -> float:
    """Return the nDCG: 1 if all helpful entries come first. An unhelpful one subtracts the gain of its rank times `penalty`.

    Use a penalty only to compare an answer with a part of it: the other entries of another answer were never judged.
    """
    total = 0.0
    for place, lore_id in enumerate(ids, 2):
        if lore_id in question.helpful:
            total += 1 / math.log2(place)
        elif lore_id in question.unhelpful:
            total -= penalty / math.log2(place)
    best = sum(1 / math.log2(place) for place in range(2, 2 + max(1, len(question.helpful))))
    return total / best


def quality(questions: Sequence[Question], answers: Mapping[str, Sequence[str]]) -> Quality:
    """Return the means over the queries with a helpful entry."""
    answerable = [question for question in questions if question.helpful]
    return Quality(
        mean([reciprocal_rank(question, answers[question.text]) for question in answerable]),
        mean([gain(question, answers[question.text]) for question in answerable]),
        mean([_recall(question, answers[question.text]) for question in answerable]),
        sum([len(question.helpful) for question in answerable]),
    )


def _recall(question: Question, ids: Sequence[str]) -> float:
    return len(question.helpful.intersection(ids)) / len(question.helpful)


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def halves(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Split queries into two random but reproducible halves: one to search with, one to validate on."""
    from hashlib import sha256

    order = sorted(questions, key=lambda question: sha256(question.text.encode("utf-8", "replace")).digest())
    return order[::2], order[1::2]
