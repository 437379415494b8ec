"""Bounded evolution of the ranking: the settings it may change, the step limits, and the evidence it requires."""

from __future__ import annotations

from engram.domain.explore.tables import Table
from engram.domain.recall.ranking import HALF_LIFE_KEY, STANDING_KEY, THRESHOLD_KEY, WORDS_KEY
from engram.domain.settings import key_named
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.recall.retrieval_measures import Interval, Quality

LEAST_JUDGED = 30  # retrievals
LEAST_MOVED = 6  # questions of a half whose result changed: the chance of six gains in a row is 1 in 64
LEAST_GAIN = 0.01
MOST_LOST = 0.05  # share of helpful entries: they had the advantage of being shown, their replacements were never judged
LEAST_HELPFUL = 150  # entries of a half: if none of 300 is lost, fewer than 1 % are, at 95 % confidence
WEIGHT_STEP = 0.2
_USER_FILE = "Scope weights go into your own file: engram evolve --apply --user"
HALF_LIFE_FACTOR = 2.0
THRESHOLD_STEP = 0.1
_WEIGHT_STEPS = (-WEIGHT_STEP, -WEIGHT_STEP / 2, WEIGHT_STEP / 2, WEIGHT_STEP)
_SUMMANDS = {
    WORDS_KEY: _WEIGHT_STEPS,
    STANDING_KEY: (-WEIGHT_STEP, -WEIGHT_STEP / 2, -0.05, 0.05, WEIGHT_STEP / 2, WEIGHT_STEP),
    THRESHOLD_KEY: (-THRESHOLD_STEP, -THRESHOLD_STEP / 2, THRESHOLD_STEP / 2, THRESHOLD_STEP),
}
_FACTORS = {HALF_LIFE_KEY: (1 / HALF_LIFE_FACTOR, HALF_LIFE_FACTOR)}


class Replay(NamedTuple):
    """Replayed questions: how many were asked, got another answer, another first entry, or lost their whole answer.

    `lost` and `won` count helpful entries that their question no longer shows, or shows again.
    """

    asked: int
    changed: int
    first_changed: int
    emptied: int
    lost: int
    won: int


class Evidence(NamedTuple):
    """The effect of a change on one half of the questions.

    `moved` of `questions` have a better or worse result; `gain` is the mean change of nDCG with its confidence interval.
    A step that hides entries is measured on all questions, with a penalty for shown entries that did not help; other steps
    are measured on the questions with a helpful entry.
    """

    questions: int
    moved: int
    before: Quality
    after: Quality
    gain: Interval


class Proposal(NamedTuple):
    """A new value of a setting; `found` and `confirmed` are the evidence of the two halves."""

    key: str
    before: float
    after: float
    found: Evidence
    confirmed: Evidence

    def as_dict(self) -> dict[str, object]:
        """Return the proposal as JSON."""
        return {
            "key": self.key,
            "before": self.before,
            "after": self.after,
            "found": _evidence_as_dict(self.found),
            "confirmed": _evidence_as_dict(self.confirmed),
        }


class Evolution(NamedTuple):
    """The measured ranking and the proposed changes.

    `judged` counts the judged retrievals, `questions` the distinct ones whose entries still exist. `why` says why nothing
    is proposed, else "". `file` is the changed file ("" if none), `applied` has its keys; `reverted` means that the file was
    restored.
    """

    judged: int
    questions: int
    effectiveness: tuple[Table, ...]
    proposals: tuple[Proposal, ...] = ()
    replay: Replay | None = None
    why: str = ""
    file: str = ""
    reverted: bool = False
    applied: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the evolution as JSON."""
        return {
            **self._asdict(),
            "effectiveness": [table.as_dict() for table in self.effectiveness],
            "proposals": [proposal.as_dict() for proposal in self.proposals],
            "replay": self.replay._asdict() if self.replay else None,
            "applied": list(self.applied),
        }


def as_tables(found: Evolution) -> tuple[Table, ...]:
    """Return proposals, replay and effectiveness as tables."""
    tables = []
    if found.proposals:
        rows = [
            (step.key, step.before, step.after, half, evidence.questions, evidence.moved, *_row(evidence))
            for step in found.proposals
            for half, evidence in (("found", step.found), ("confirmed", step.confirmed))
        ]
        columns = ("key", "now", "proposed", "half", "questions", "moved", "mrr", "ndcg", "gain")
        tables.append(Table("proposals", columns, tuple(rows)))
    if found.replay:
        tables.append(Table("replay", found.replay._fields, (found.replay,)))
    return (*tables, *[table for table in found.effectiveness if table.rows])


def verdict(found: Evolution) -> str:
    """Return the result in a sentence or two."""
    if found.reverted:
        return f"{found.file} has been restored."
    if not found.proposals:
        return found.why
    applied = [proposal for proposal in found.proposals if proposal.key in found.applied]
    left = [proposal for proposal in found.proposals if proposal not in applied]
    sentences = [f"{format_steps(applied)}: written to {found.file}."] if applied else []
    sentences += [f"Proposed: {format_steps(left)}."] if left else []
    sentences += [] if applied else ["Nothing was changed."]
    sentences += [_USER_FILE] if any(is_of_scope(proposal.key) for proposal in left) else []
    return " ".join(sentences)


def format_steps(proposals: Sequence[Proposal]) -> str:
    """Return the keys of proposals, each with the value before and after."""
    return ", ".join(f"{step.key} {step.before:g} → {step.after:g}" for step in proposals)


def _row(evidence: Evidence) -> tuple[str, str, str]:
    before, after, gain = evidence.before, evidence.after, evidence.gain
    return (
        f"{before.mrr:.3f} → {after.mrr:.3f}",
        f"{before.ndcg:.3f} → {after.ndcg:.3f}",
        f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
    )


def is_of_scope(name: str) -> bool:
    """Return whether a setting is a scope weight, which only the user file sets."""
    return name.startswith("scopes.")


def steps(present: Mapping[str, float]) -> list[tuple[str, float]]:
    """List the values that each setting may get in one step, within its bounds and those of a step."""
    found = []
    for name, current in present.items():
        key = key_named(name)
        summands = _WEIGHT_STEPS if is_of_scope(name) else _SUMMANDS.get(name, ())
        wanted = [current + summand for summand in summands]
        wanted += [current * factor for factor in _FACTORS.get(name, ())]
        low, high = key.low or 0.0, key.high or 0.0
        values = {round(min(max(value, low), high), 2) for value in wanted}
        found += [(name, value) for value in sorted(values) if value != current]
    return found


def is_sound(evidence: Evidence, *, hides: bool) -> bool:
    """Return whether the evidence suffices: enough questions moved, a significant gain, and no harm."""
    return (
        evidence.moved >= LEAST_MOVED
        and evidence.gain.mean >= LEAST_GAIN
        and evidence.gain.low > 0
        and is_harmless(evidence.before, evidence.after, hides=hides)
    )


def is_harmless(before: Quality, after: Quality, *, hides: bool) -> bool:
    """Return whether helpful entries rank as high as before, and hardly any is lost.

    A step that `hides` entries must lose none of many, as nothing more is learned about hidden entries.
    """
    if after.mrr < before.mrr:
        return False
    if hides:
        return before.helpful >= LEAST_HELPFUL and after.recall >= before.recall
    return after.recall >= before.recall - MOST_LOST


def why_none(judged: int, questions: Sequence[object]) -> str:
    """Explain why nothing is proposed."""
    if judged < LEAST_JUDGED:
        retrievals = counted(judged, "retrieval was", "retrievals were")
        return f"{retrievals} judged; proposals need {LEAST_JUDGED}."
    return f"No change is a significant improvement on the {len(questions)} judged questions."


def _evidence_as_dict(evidence: Evidence) -> dict[str, object]:
    before, after, gain = (
        {name: round(value, 4) for name, value in one._asdict().items()}
        for one in (evidence.before, evidence.after, evidence.gain)
    )
    return {
        "questions": evidence.questions,
        "moved": evidence.moved,
        "before": before,
        "after": after,
        "gain": gain,
    }
