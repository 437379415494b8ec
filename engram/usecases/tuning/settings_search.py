"""Trying bounded steps of settings on judged questions: found with one half of them, confirmed with the other."""

from __future__ import annotations

from abc import ABC, abstractmethod

from engram.domain.recall import judged, ranking
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import Evidence, Proposal, Replay
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.tuning.bootstrap import interval

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.domain.recall.judged import Quality, Question


class Trial(ABC):
    """Questions asked again under other settings, each set of them once."""

    def __init__(self, present: Mapping[str, float], tried: Collection[str]) -> None:
        """`present` has the settings that matter as they are, `tried` the keys of those that may change."""
        self._present = dict(present)
        self._tried = frozenset(tried)
        self._known: dict[tuple[float, ...], dict[str, tuple[str, ...]]] = {}

    @abstractmethod
    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """The ids that each question shows with these values."""

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
        before = self._answers(texts, {**self._present, **{one.key: one.before for one in proposals}})
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
        left = {key: now for key, now in values.items() if key in self._tried and key not in done}
        for step in evolution.steps(left):
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
        known = self._known.setdefault(tuple(values.values()), {})
        unknown = [text for text in texts if text not in known]
        if unknown:
            known |= self.ask(unknown, values)
        return {text: known[text] for text in texts}


def _hides(values: Mapping[str, float], step: tuple[str, float]) -> bool:
    """Whether the step leaves out lore that are shown now."""
    key, value = step
    return key == ranking.THRESHOLD_KEY and value > values[key]
