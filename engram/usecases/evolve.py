"""Evolution: what the judged retrievals tell of the ranking, and which bounded changes would have served them better.

A change is found with one half of the judged questions and confirmed with the other, by asking them all again of a
copy of the index. The judgements of this clone are taken off the lore first: what was called helpful has a better
standing since, and would speak for itself.
"""

from __future__ import annotations

from engram.adapters.state.judgements import own_votes
from engram.domain import evolution, judged, ranking
from engram.domain.evolution import LEAST_JUDGED, Evidence, Evolution, Proposal, Replay
from engram.domain.lore import ACTIVE
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.bootstrap import interval
from engram.usecases.consult import consult
from engram.usecases.effectiveness import effectiveness
from engram.usecases.judged_retrievals import judged_retrievals, questions_of
from engram.usecases.rehearsal import rehearsing
from engram.usecases.use import latest_queries, log_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.index.catalog import Catalog, Hit
    from engram.domain.confidence import Vote
    from engram.domain.judged import Quality, Question
    from engram.usecases.rehearsal import Rehearsal
    from engram.usecases.store import Store

MOST_REPLAYED = 300  # past questions, the latest


def evolve(store: Store) -> Evolution:
    """What could be better, and what is; nothing is changed. Raises StoreError."""
    with store.lock:
        own, active = consult(store, lambda generation: _ids(generation.catalog))
        retrievals = judged_retrievals(log_of(store), own)
        questions = questions_of(retrievals, active)
        with rehearsing(store) as rehearsal:
            shown = rehearsal.shown([question.text for question in questions])
            trial = Trial(store, rehearsal)
            tables = effectiveness(store, retrievals, shown)
            count = len(retrievals)
            proposals = trial.proposals(questions) if count >= LEAST_JUDGED else []
            if not proposals:
                return Evolution(count, len(questions), tables, why=evolution.why_none(count, questions))
            replay = trial.replay(questions, latest_queries(store, MOST_REPLAYED), proposals)
        return Evolution(count, len(questions), tables, tuple(proposals), replay)


def _ids(catalog: Catalog) -> tuple[set[str], set[str]]:
    """The ids of all lore of a store, and of those that can be shown."""
    hits = catalog.select("1")
    return {hit.id for hit in hits}, {hit.id for hit in hits if hit.status == ACTIVE}


class Trial:
    """Questions asked again under other settings, each set of them once."""

    def __init__(self, store: Store, rehearsal: Rehearsal) -> None:
        """`rehearsal` is of this store."""
        self._settings = store.settings
        self._rehearsal = rehearsal
        self._present = {key: store.settings.number(key) for key in ranking.KEYS}
        self._known: dict[tuple[float, ...], dict[str, tuple[str, ...]]] = {}
        votes = own_votes(store.state)
        rehearsal.revise(lambda hit: _unjudged(hit, votes[hit.id]) if hit.id in votes else hit)

    def proposals(self, questions: Sequence[Question]) -> list[Proposal]:
        """The changes that one half of the questions finds and the other confirms; the next is tried on top of the last."""
        finding, confirming = judged.halves(questions)
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
        """What the proposals together make of past questions, and of those that were judged."""
        texts = list(dict.fromkeys([*past, *[question.text for question in questions]]))
        before = self._answers(texts, self._present)
        after = self._answers(texts, {**self._present, **{one.key: one.after for one in proposals}})
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
        """The step that serves these questions best, where any does."""
        best, most = None, evolution.LEAST_GAIN
        before = self._quality(questions, values)
        for step in evolution.steps({key: now for key, now in values.items() if key not in done}):
            hides = _hides(values, step)
            if not evolution.is_harmless(before, before, hides=hides):
                continue  # too few to tell, whatever it did
            after = self._quality(questions, {**values, step[0]: step[1]})
            gained = judged.mean(self._changes(questions, values, step))
            if gained >= most and evolution.is_harmless(before, after, hides=hides):
                best, most = step, gained
        return best

    def _quality(self, questions: Sequence[Question], values: Mapping[str, float]) -> Quality:
        return judged.quality(questions, self._answers([one.text for one in questions], values))

    def _evidence(
        self, questions: Sequence[Question], values: Mapping[str, float], step: tuple[str, float]
    ) -> Evidence:
        """How these questions fare after a step from `values`."""
        changes = self._changes(questions, values, step)
        before, after = (self._quality(questions, one) for one in (values, {**values, step[0]: step[1]}))
        return Evidence(
            len(changes), sum([change != 0 for change in changes]), before, after, interval(changes)
        )

    def _changes(
        self, questions: Sequence[Question], values: Mapping[str, float], step: tuple[str, float]
    ) -> list[float]:
        """By how much each question gains: those with which something helped, or all where the step only hides lore."""
        texts = [question.text for question in questions]
        before, after = (self._answers(texts, one) for one in (values, {**values, step[0]: step[1]}))
        hides = _hides(values, step)
        penalty = judged.PENALTY if hides else 0.0
        return [
            judged.gain(one, after[one.text], penalty=penalty)
            - judged.gain(one, before[one.text], penalty=penalty)
            for one in questions
            if hides or one.helpful
        ]

    def _answers(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """The ids that each question shows with these values."""
        known = self._known.setdefault(tuple(values.values()), {})
        unknown = [text for text in texts if text not in known]
        if unknown:
            self._rehearsal.tune(self._settings.but(values))
            found = self._rehearsal.shown(unknown)
            known |= {text: tuple([hit.id for hit in found[text]]) for text in unknown}
        return {text: known[text] for text in texts}


def _hides(values: Mapping[str, float], step: tuple[str, float]) -> bool:
    """Whether the step leaves out lore that are shown now."""
    key, value = step
    return key == ranking.THRESHOLD_KEY and value > values[key]


def _unjudged(hit: Hit, vote: Vote) -> Hit:
    """A lore as it would be if nobody here had judged it."""
    count = max(0, hit.validation_count - vote.n)
    return hit._replace(
        confidence=min(1000, max(0, hit.confidence - vote.up + vote.down)),
        validation_count=count,
        last_validated=hit.last_validated if count else None,
        updated_at=hit.created_at,
    )
