"""Search for better settings on judged questions: find them with one half and confirm them with the other.

`Trial` is the search; `RankingTrial` tries the ranking of one store, `ScopeTrial` the weights of several scopes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from engram.domain.recall import ranking, retrieval_measures
from engram.domain.recall.retrieval_measures import Interval, Quality, Question
from engram.domain.scopes import weight_key
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import Evidence, Proposal, Replay
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.recall.query import Weighting, best_first
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.confidence import Vote
    from engram.usecases.consolidation.replay import Replayer
    from engram.usecases.recall.search import Candidate
    from engram.usecases.store.store import Store

_RESAMPLES = 2000  # of the bootstrap
_LEVEL = 0.95
_SEED = 20_250


class Trial(ABC):
    """Replays judged questions with other settings; the answers of each combination are cached."""

    def __init__(self, present: Mapping[str, float], tried: Collection[str]) -> None:
        """Start from the `present` values; only the keys in `tried` may change."""
        self._present = dict(present)
        self._tried = frozenset(tried)
        self._known: dict[tuple[float, ...], dict[str, tuple[str, ...]]] = {}

    @abstractmethod
    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """Return the ids that each question shows with these values."""

    def proposals(self, questions: Sequence[Question]) -> list[Proposal]:
        """Search greedily for changes that one half of the questions finds and the other confirms."""
        finding, confirming = retrieval_measures.halves(questions)
        values, done = dict(self._present), list[Proposal]()
        while best := self._best(finding, values, {proposal.key for proposal in done}):
            found, confirmed = (self._evidence(half, values, best) for half in (finding, confirming))
            if not evolution.is_sound(confirmed, hides=_hides(values, best)):
                break
            key, value = best
            done.append(Proposal(key, values[key], value, found, confirmed))
            values[key] = value
        return done

    def replay(
        self, questions: Sequence[Question], past: Sequence[str], proposals: Sequence[Proposal]
    ) -> Replay:
        """Replay past and judged questions with all proposals applied."""
        texts = list(dict.fromkeys([*past, *[question.text for question in questions]]))
        before = self._answers(texts, {**self._present, **{step.key: step.before for step in proposals}})
        after = self._answers(texts, {**self._present, **{step.key: step.after for step in proposals}})
        lost = won = 0
        for question in questions:
            was, now = (question.helpful.intersection(answer[question.text]) for answer in (before, after))
            lost, won = lost + len(was - now), won + len(now - was)
        changed = [text for text in texts if before[text] != after[text]]
        return Replay(
            len(texts),
            len(changed),
            sum([before[text][:1] != after[text][:1] for text in changed]),
            sum([not after[text] for text in changed]),
            lost,
            won,
        )

    def _best(
        self, questions: Sequence[Question], values: Mapping[str, float], done: Collection[str]
    ) -> tuple[str, float] | None:
        """Return the step that improves the answers most, or None."""
        best, best_gain = None, evolution.LEAST_GAIN
        before = self._quality(questions, values)
        untried = {key: value for key, value in values.items() if key in self._tried and key not in done}
        for step in evolution.steps(untried):
            hides = _hides(values, step)
            if not evolution.is_harmless(before, before, hides=hides):
                continue  # too few questions to judge this step
            after = self._quality(questions, {**values, step[0]: step[1]})
            gain = retrieval_measures.mean(self._changes(questions, values, step))
            if gain >= best_gain and evolution.is_harmless(before, after, hides=hides):
                best, best_gain = step, gain
        return best

    def _quality(self, questions: Sequence[Question], values: Mapping[str, float]) -> Quality:
        return retrieval_measures.quality(
            questions, self._answers([question.text for question in questions], values)
        )

    def _evidence(
        self, questions: Sequence[Question], values: Mapping[str, float], step: tuple[str, float]
    ) -> Evidence:
        """Measure these questions before and after a step from `values`."""
        changes = self._changes(questions, values, step)
        before, after = (self._quality(questions, each) for each in (values, {**values, step[0]: step[1]}))
        return Evidence(
            len(changes), sum([change != 0 for change in changes]), before, after, interval(changes)
        )

    def _changes(
        self, questions: Sequence[Question], values: Mapping[str, float], step: tuple[str, float]
    ) -> list[float]:
        """Return the gain of each question with a helpful entry, or of all questions if the step hides entries."""
        texts = [question.text for question in questions]
        before, after = (self._answers(texts, each) for each in (values, {**values, step[0]: step[1]}))
        hides = _hides(values, step)
        penalty = retrieval_measures.PENALTY if hides else 0.0
        return [
            retrieval_measures.gain(question, after[question.text], penalty=penalty)
            - retrieval_measures.gain(question, before[question.text], penalty=penalty)
            for question in questions
            if hides or question.helpful
        ]

    def _answers(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        known = self._known.setdefault(tuple(values.values()), {})
        unknown = [text for text in texts if text not in known]
        if unknown:
            known |= self.ask(unknown, values)
        return {text: known[text] for text in texts}


def _hides(values: Mapping[str, float], step: tuple[str, float]) -> bool:
    """Return whether the step hides entries that are shown now."""
    key, value = step
    return key == ranking.THRESHOLD_KEY and value > values[key]


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of the values with its bootstrap confidence interval; 0 if there are none."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    draw, count = Random(_SEED).choices, len(values)  # noqa: S311 - resampling, no secret
    means = sorted([sum(draw(values, k=count)) / count for _ in range(_RESAMPLES)])
    edge = round(_RESAMPLES * (1 - _LEVEL) / 2)
    return Interval(sum(values) / count, means[edge], means[-1 - edge])


class RankingTrial(Trial):
    """A trial of the ranking settings on one store."""

    def __init__(self, store: Store, replayer: Replayer) -> None:
        """Use a replayer of this store."""
        super().__init__(ranking_settings(store), ranking.KEYS)
        self._settings = store.settings
        self._replayer = replayer
        forget_own_votes(store, replayer)

    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """As `Trial.ask`."""
        self._replayer.use_settings(self._settings.but(values))
        return {text: tuple([hit.id for hit in hits]) for text, hits in self._replayer.shown(texts).items()}


def ranking_settings(store: Store) -> dict[str, float]:
    """Return the current settings of the ranking."""
    return {key: store.settings.number(key) for key in ranking.KEYS}


def forget_own_votes(store: Store, replayer: Replayer) -> None:
    """Remove the judgements of this clone from the copied index."""
    votes = judgements.own_votes(store)
    replayer.revise_hits(lambda hit: _without_own_vote(hit, votes[hit.id]) if hit.id in votes else hit)


def _without_own_vote(hit: Hit, vote: Vote) -> Hit:
    """Remove this clone's vote from an entry."""
    count, moved = max(0, hit.validation_count - vote.n), vote.down - vote.up
    return hit._replace(
        full=None if hit.full is None else min(1000, max(0, hit.full + moved)),
        believed=None,
        modest=None,
        confidence=min(1000, max(0, hit.confidence + moved)),
        validation_count=count,
        last_validated=hit.last_validated if count else None,
        updated_at=hit.created_at,
    )


class ScopeTrial(Trial):
    """A trial of scope weights on all queried stores; the ranking settings of the first may differ, too."""

    def __init__(self, replayers: Sequence[tuple[Store, Replayer]]) -> None:
        """Use one replayer per store, that of the current store first, and none of session stores, which do not last."""
        self._replayers = replayers
        home = replayers[0][0]
        self._weights = {weight_key(store.places.scope): store.scope.weight for store, _ in replayers}
        super().__init__({**ranking_settings(home), **self._weights}, self._weights.keys())
        self._limit = int(home.settings.number("recall.limit"))
        self._found: dict[tuple[float, ...], dict[str, list[tuple[str, Candidate]]]] = {}
        for store, replayer in replayers:
            forget_own_votes(store, replayer)

    def assume(self, proposals: Sequence[Proposal]) -> None:
        """Apply these proposals in all further trials."""
        self._present |= {proposal.key: proposal.after for proposal in proposals}

    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """As `Trial.ask`; each store is queried once, as weights change only the order."""
        tuned = {key: values[key] for key in ranking.KEYS}
        known = self._found.setdefault(tuple(tuned.values()), {})
        unknown = [text for text in texts if text not in known]
        if unknown:
            known |= self._look_up(unknown, tuned)
        weightings = {
            store.places.scope: Weighting(
                values[weight_key(store.places.scope)], store.settings.number(ranking.THRESHOLD_KEY)
            )
            for store, _ in self._replayers
        }
        home = self._replayers[0][0].places.scope
        weightings[home] = weightings[home]._replace(threshold=tuned[ranking.THRESHOLD_KEY])
        return {text: self._show(known[text], weightings) for text in texts}

    def _show(
        self, found: Sequence[tuple[str, Candidate]], weightings: Mapping[str, Weighting]
    ) -> tuple[str, ...]:
        ids = dict.fromkeys([hit.id for _, hit in best_first(found, weightings)])
        return tuple(ids)[: self._limit]

    def _look_up(
        self, texts: Sequence[str], tuned: Mapping[str, float]
    ) -> dict[str, list[tuple[str, Candidate]]]:
        found: dict[str, list[tuple[str, Candidate]]] = {text: [] for text in texts}
        for place, (store, replayer) in enumerate(self._replayers):
            replayer.use_settings(store.settings.but(tuned) if place == 0 else store.settings)
            for text, hits in replayer.candidates(texts).items():
                found[text] += [(store.places.scope, hit) for hit in hits]
        return found
