"""What evolution may change, how far at once, and what it needs to know before it proposes a change."""

from __future__ import annotations

from engram.domain.explore.tables import Table
from engram.domain.recall.ranking import HALF_LIFE_KEY, STANDING_KEY, THRESHOLD_KEY, WORDS_KEY
from engram.domain.settings import key_named
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.recall.judged import Interval, Quality

LEAST_JUDGED = 30  # retrievals
LEAST_MOVED = 6  # questions of a half that fare better or worse: that six all gain is chance once in 64 times
LEAST_GAIN = 0.01
MOST_LOST = 0.05  # of the lore that helped: all of them were shown once, and what would be shown instead was never judged
LEAST_HELPFUL = (
    150  # lore of a half: where none of 300 is lost, fewer than one in a hundred is, with 95 % certainty
)
WEIGHT_STEP = 0.2
_YOURS = "Weights of scopes go into your own file: engram evolve --apply --user"
HALF_LIFE_FACTOR = 2.0
THRESHOLD_STEP = 0.1
_OF_WEIGHTS = (-WEIGHT_STEP, -WEIGHT_STEP / 2, WEIGHT_STEP / 2, WEIGHT_STEP)
_SUMS = {
    WORDS_KEY: _OF_WEIGHTS,
    STANDING_KEY: (-WEIGHT_STEP, -WEIGHT_STEP / 2, -0.05, 0.05, WEIGHT_STEP / 2, WEIGHT_STEP),
    THRESHOLD_KEY: (-THRESHOLD_STEP, -THRESHOLD_STEP / 2, THRESHOLD_STEP / 2, THRESHOLD_STEP),
}
_FACTORS = {HALF_LIFE_KEY: (1 / HALF_LIFE_FACTOR, HALF_LIFE_FACTOR)}


class Replay(NamedTuple):
    """What became of past questions: how many were asked again, how many have another answer, another first lore, none any more.

    `lost` and `won` count the lore that had helped with a question and are not shown for it any more, or are again.
    """

    asked: int
    changed: int
    first_changed: int
    emptied: int
    lost: int
    won: int


class Evidence(NamedTuple):
    """Why a change is proposed, from the half of the questions that it was not found with.

    `moved` of `questions` fare better or worse; `gain` is the mean change of nDCG, and where it lies. For a step that hides
    lore it is of all questions, with a penalty for lore that did not help; else of those with which something helped.
    """

    questions: int
    moved: int
    before: Quality
    after: Quality
    gain: Interval


class Proposal(NamedTuple):
    """One setting with another value. `found` is the evidence of the half that it was found with."""

    key: str
    before: float
    after: float
    found: Evidence
    confirmed: Evidence

    def as_dict(self) -> dict[str, object]:
        """The proposal as JSON."""
        evidence = {name: _said(one) for name, one in (("found", self.found), ("confirmed", self.confirmed))}
        return {"key": self.key, "before": self.before, "after": self.after, **evidence}


class Evolution(NamedTuple):
    """What the live record tells of the ranking, and what could be better.

    `judged` counts retrievals that somebody judged, `questions` the different ones of which the lore are still there.
    `why` says why nothing is proposed, "" where something is. `file` is what was changed, "" if nothing was, and `applied`
    the keys that were; `reverted` says that it is again as it was before.
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
        """All of it as JSON."""
        return {
            **self._asdict(),
            "effectiveness": [table.as_dict() for table in self.effectiveness],
            "proposals": [proposal.as_dict() for proposal in self.proposals],
            "replay": self.replay._asdict() if self.replay else None,
            "applied": list(self.applied),
        }


def as_tables(found: Evolution) -> tuple[Table, ...]:
    """The proposals, what the replay came to, and the effectiveness, as tables."""
    tables = []
    if found.proposals:
        rows = [
            (one.key, one.before, one.after, name, evidence.questions, evidence.moved, *_row(evidence))
            for one in found.proposals
            for name, evidence in (("found", one.found), ("confirmed", one.confirmed))
        ]
        columns = ("key", "now", "proposed", "half", "questions", "moved", "mrr", "ndcg", "gain")
        tables.append(Table("proposals", columns, tuple(rows)))
    if found.replay:
        tables.append(Table("replay", found.replay._fields, (found.replay,)))
    return (*tables, *[table for table in found.effectiveness if table.rows])


def verdict(found: Evolution) -> str:
    """What came of it, in a sentence or two."""
    if found.reverted:
        return f"{found.file} is again as it was before."
    if not found.proposals:
        return found.why
    done = [one for one in found.proposals if one.key in found.applied]
    left = [one for one in found.proposals if one not in done]
    said = [f"{_steps(done)}: written into {found.file}."] if done else []
    said += [f"Proposed: {_steps(left)}."] if left else []
    said += [] if done else ["Nothing was changed."]
    said += [_YOURS] if any(is_of_scope(one.key) for one in left) else []
    return " ".join(said)


def _steps(proposals: Sequence[Proposal]) -> str:
    return ", ".join(f"{one.key} {one.before:g} → {one.after:g}" for one in proposals)


def _row(evidence: Evidence) -> tuple[str, str, str]:
    before, after, gain = evidence.before, evidence.after, evidence.gain
    return (
        f"{before.mrr:.3f} → {after.mrr:.3f}",
        f"{before.ndcg:.3f} → {after.ndcg:.3f}",
        f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
    )


def is_of_scope(name: str) -> bool:
    """Whether a setting is the weight of a scope, which is a person's own."""
    return name.startswith("scopes.")


def _sums(name: str) -> tuple[float, ...]:
    return _SUMS.get(name, _OF_WEIGHTS if is_of_scope(name) else ())


def steps(present: Mapping[str, float]) -> list[tuple[str, float]]:
    """Each value that a setting may get in one go, with its key: within the bounds of the step and of the setting."""
    found = []
    for name, now in present.items():
        key = key_named(name)
        wanted = [now + step for step in _sums(name)] + [now * by for by in _FACTORS.get(name, ())]
        low, high = key.low or 0.0, key.high or 0.0
        values = {round(min(max(value, low), high), 2) for value in wanted}
        found += [(name, value) for value in sorted(values) if value != now]
    return found


def is_sound(evidence: Evidence, *, hides: bool) -> bool:
    """Whether this is evidence enough: enough questions moved, a gain worth having, and harm left out."""
    return (
        evidence.moved >= LEAST_MOVED
        and evidence.gain.mean >= LEAST_GAIN
        and evidence.gain.low > 0
        and is_harmless(evidence.before, evidence.after, hides=hides)
    )


def is_harmless(before: Quality, after: Quality, *, hides: bool) -> bool:
    """Whether what helped stands as high as before, and hardly any of it is lost.

    A step that `hides` lore may lose none of many: of what is not shown nothing is learned any more.
    """
    if after.mrr < before.mrr:
        return False
    if hides:
        return before.helpful >= LEAST_HELPFUL and after.recall >= before.recall
    return after.recall >= before.recall - MOST_LOST


def why_none(judged: int, questions: Sequence[object]) -> str:
    """Why there is nothing to propose."""
    if judged < LEAST_JUDGED:
        retrievals = "retrieval was" if judged == 1 else "retrievals were"
        return f"{judged} {retrievals} judged; proposals need {LEAST_JUDGED}."
    return f"No change would be better beyond doubt for the {len(questions)} questions that were judged."


def _said(evidence: Evidence) -> dict[str, object]:
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
