"""Training the table: a text's vector is the direction of the mean of its rows, so the gradient is written out by hand.

Symmetric InfoNCE over the pairs of a batch, at the full length and at the first half (so that it can be used alone), and
in the second stage the teacher's similarities within a batch. Adam on the rows that a batch touches. NumPy is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ids = Sequence[NDArray[np.int32]]

TEMPERATURE = 0.05
_HALF_WEIGHT = 0.3
_WARM = 30
_BETAS = (0.9, 0.99)
_SAME_SOURCE = 0.6  # of the batches are of one source: neighbours in subject are the hard negatives


class Stage(NamedTuple):
    """How long, how fast, how many pairs a step, and how much the teacher's similarities weigh."""

    steps: int
    rate: float
    batch: int
    teacher_weight: float = 0.0


class Adam:
    """Adam on the rows of a table that a step touches."""

    def __init__(self, table: Floats) -> None:
        self._table = table
        self._first, self._second = np.zeros_like(table), np.zeros_like(table)
        self._times = np.zeros(len(table), np.int64)

    def step(self, rows: NDArray[np.intp], gradient: Floats, rate: float) -> None:
        """Move these rows against their gradient."""
        self._times[rows] += 1
        times = self._times[rows, None]
        first = _BETAS[0] * self._first[rows] + (1 - _BETAS[0]) * gradient
        second = _BETAS[1] * self._second[rows] + (1 - _BETAS[1]) * gradient**2
        self._first[rows], self._second[rows] = first, second
        mean, spread = first / (1 - _BETAS[0] ** times), second / (1 - _BETAS[1] ** times)
        self._table[rows] -= (rate * mean / (np.sqrt(spread) + 1e-8)).astype(np.float32)


def train(
    table: Floats,
    titles: Ids,
    bodies: Ids,
    sources: NDArray[np.intp],
    stage: Stage,
    random: np.random.Generator,
    taught: tuple[NDArray[np.intp], Floats, Floats] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> float:
    """Train the table in place; the last loss. `taught`: numbers of pairs and the teacher's vectors of both sides."""
    adam = Adam(table)
    loss = float("nan")
    for step in range(stage.steps):
        rate = stage.rate * min(1.0, (step + 1) / _WARM) * (1 - step / stage.steps)
        chosen = _batch(sources, stage.batch, random)
        loss, texts, gradients = _contrast(table, [titles[i] for i in chosen], [bodies[i] for i in chosen])
        if taught is not None and stage.teacher_weight:
            more = _imitate(table, titles, bodies, taught, stage, random)
            loss, texts, gradients = loss + more[0], texts + more[1], np.concatenate([gradients, more[2]])
        rows, gradient = _to_rows(texts, gradients)
        adam.step(rows, gradient, rate)
        if step % 50 == 0 or step == stage.steps - 1:
            say(f"step {step:5} loss {loss:.4f}")
    return loss


def means(table: Floats, texts: Ids) -> Floats:
    """The mean row of each text, (texts, dimensions)."""
    lengths = np.array([len(ids) for ids in texts])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sums = np.add.reduceat(table[np.concatenate(texts)], starts, axis=0)
    return (sums / lengths[:, None]).astype(np.float32)  # type: ignore[no-any-return]


def _batch(sources: NDArray[np.intp], size: int, random: np.random.Generator) -> NDArray[np.intp]:
    counts = np.bincount(sources)
    large = np.flatnonzero(counts >= size)
    if len(large) and random.random() < _SAME_SOURCE:
        weights = counts[large] ** 0.6
        source = random.choice(large, p=weights / weights.sum())
        return random.choice(np.flatnonzero(sources == source), size, replace=False)  # type: ignore[no-any-return]
    return random.choice(len(sources), min(size, len(sources)), replace=False)  # type: ignore[no-any-return]


def _contrast(table: Floats, titles: Ids, bodies: Ids) -> tuple[float, list[NDArray[np.int32]], Floats]:
    """The loss, the texts of both sides, and its gradient by each text's mean."""
    one, other = means(table, titles), means(table, bodies)
    width = table.shape[1]
    loss, total = 0.0, np.zeros((2, len(titles), width), np.float32)
    for dimensions, weight in ((width, 1.0), (width // 2, _HALF_WEIGHT)):
        part, first, second = _info_nce(one[:, :dimensions], other[:, :dimensions])
        loss += weight * part
        total[0, :, :dimensions] += weight * first
        total[1, :, :dimensions] += weight * second
    return loss, [*titles, *bodies], total.reshape(-1, width)


def _info_nce(one: Floats, other: Floats) -> tuple[float, Floats, Floats]:
    q, q_length = _unit(one)
    d, d_length = _unit(other)
    scores = q @ d.T / TEMPERATURE
    rows, columns = _softmax(scores), _softmax(scores.T).T
    count = len(q)
    loss = -0.5 * float(np.log(np.diag(rows) + 1e-12).mean() + np.log(np.diag(columns) + 1e-12).mean())
    slope = (0.5 * (rows + columns) - np.eye(count, dtype=np.float32)) / (count * TEMPERATURE)
    return loss, _through_unit(slope @ d, q, q_length), _through_unit(slope.T @ q, d, d_length)


def _imitate(
    table: Floats,
    titles: Ids,
    bodies: Ids,
    taught: tuple[NDArray[np.intp], Floats, Floats],
    stage: Stage,
    random: np.random.Generator,
) -> tuple[float, list[NDArray[np.int32]], Floats]:
    """KL from the teacher's similarities of a batch to the table's, each text against all others."""
    numbers, teacher_titles, teacher_bodies = taught
    chosen = random.choice(len(numbers), min(stage.batch // 2, len(numbers)), replace=False)
    texts = [titles[i] for i in numbers[chosen]] + [bodies[i] for i in numbers[chosen]]
    wanted = np.concatenate([teacher_titles[chosen], teacher_bodies[chosen]])
    mine, lengths = _unit(means(table, texts))
    target = _softmax(_without_diagonal(wanted @ wanted.T / TEMPERATURE))
    found = _softmax(_without_diagonal(mine @ mine.T / TEMPERATURE))
    loss = float((target * (np.log(target + 1e-12) - np.log(found + 1e-12))).sum(axis=1).mean())
    slope = (found - target) / (len(texts) * TEMPERATURE)
    gradient = _through_unit((slope + slope.T) @ mine, mine, lengths)
    return stage.teacher_weight * loss, texts, stage.teacher_weight * gradient


def _to_rows(texts: Ids, gradients: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The gradient by row of the table, from that by each text's mean."""
    lengths = np.array([len(ids) for ids in texts])
    ids = np.concatenate(texts)
    owners = np.repeat(np.arange(len(texts)), lengths)
    order = np.argsort(ids, kind="stable")
    rows, starts = np.unique(ids[order], return_index=True)
    shares = (gradients / lengths[:, None])[owners[order]]
    return rows, np.add.reduceat(shares, starts, axis=0).astype(np.float32)


def _unit(rows: Floats) -> tuple[Floats, Floats]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-9).astype(np.float32)
    return rows / lengths, lengths


def _through_unit(gradient: Floats, unit: Floats, lengths: Floats) -> Floats:
    """The gradient before vectors were made unit ones."""
    along = (gradient * unit).sum(axis=1, keepdims=True)
    return ((gradient - along * unit) / lengths).astype(np.float32)


def _softmax(scores: Floats) -> Floats:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def _without_diagonal(scores: Floats) -> Floats:
    np.fill_diagonal(scores, -1e9)
    return scores
