"""Consolidation as a value: the steps of a plan, which of them are taken, and what rehearsing them showed."""

from __future__ import annotations

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.domain.entry.confidence import Vote
    from engram.domain.entry.lore import Lore

MERGE, SUPERSEDE, ARCHIVE, PROMOTE, DECAY = KINDS = ("merge", "supersede", "archive", "promote", "decay")
SAYS = {
    MERGE: "say the same: they become one",
    SUPERSEDE: "another takes its place",
    ARCHIVE: "kept, but not recalled",
    PROMOTE: "copied to where more people see it",
    DECAY: "0.01 less for each month without use",
}


class Step(NamedTuple):
    """One thing that a plan does; its `id` is the same on every machine as long as it is about the same lore.

    `lore` are the ids it is about: of a merge the one that stays first. `paths` and `digests` are their files as they
    were looked at. `before` and `after` are confidences in thousandths, of the lore that stays. `result` is that lore
    as it will be: of a merge, and of what comes out of a session. `cosine` is that of the texts of a merge that are the
    farthest apart (0 elsewhere). `accounts` are the months that decay takes off or
    gives back. `to` is the scope that a lore is promoted to, `session` where it comes from. A step that `confirm` says
    so of is only done when somebody asks for it; `selected` says whether this plan does it.
    """

    id: str
    kind: str
    lore: tuple[str, ...]
    paths: tuple[str, ...]
    digests: tuple[str, ...]
    title: str
    why: str
    before: int
    after: int
    result: Lore | None = None
    cosine: float = 0.0
    accounts: Mapping[str, Vote] = {}
    to: str = ""
    session: str = ""
    confirm: bool = False
    selected: bool = True


class Left(NamedTuple):
    """Lore that are as near as what is merged and do not agree: left to a person. `why` is a clause."""

    lore: tuple[str, ...]
    title: str
    why: str
    cosine: float


class Difference(NamedTuple):
    """A past query that the plan gives another answer: the ids before and after, best first."""

    query: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class Withheld(NamedTuple):
    """A step that was taken out of the plan: for this query, a lore that was found helpful would be lost."""

    step: Step
    query: str
    lore: str


class Rehearsal(NamedTuple):
    """What became of past queries: how many were asked again, and of them how many answers stay as they are, get
    shorter, get longer, or have others or another order. `left_out` counts older queries that were not asked again.
    """

    queries: int = 0
    unchanged: int = 0
    shorter: int = 0
    longer: int = 0
    changed: int = 0
    left_out: int = 0
    differences: tuple[Difference, ...] = ()

    @property
    def sentence(self) -> str:
        """What it showed, in words."""
        if not self.queries:
            return "no past query to rehearse it on"
        parts = [f"{self.unchanged:,} stay as they are"]
        parts += [f"{self.shorter:,} get shorter"] if self.shorter else []
        parts += [f"{self.longer:,} get longer"] if self.longer else []
        parts += [f"{self.changed:,} change"] if self.changed else []
        asked = f"{self.queries:,} past quer{'y' if self.queries == 1 else 'ies'}"
        return f"rehearsed on {asked}: 0 lose a helpful answer, {', '.join(parts)}"


class Plan(NamedTuple):
    """What consolidation would do. `lost` of the rehearsal's answers is always 0: see `withheld`."""

    made_at: datetime
    steps: tuple[Step, ...]
    left: tuple[Left, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    rehearsal: Rehearsal = Rehearsal()

    @property
    def selected(self) -> tuple[Step, ...]:
        """The steps that this plan does."""
        return tuple([step for step in self.steps if step.selected])

    @property
    def by_kind(self) -> dict[str, int]:
        """How many steps of each kind this plan does."""
        return counts(self.selected)


def counts(steps: Sequence[Step]) -> dict[str, int]:
    """How many steps of each kind there are; kinds without one are left out."""
    found = {kind: sum(step.kind == kind for step in steps) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """The kinds in order, all where none is named. Raises UsageError for one that there is not."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"'{kind}' is no kind of step.", f"Kinds: {', '.join(KINDS)}.")
    return tuple([kind for kind in KINDS if kind in kinds]) or KINDS


def choose(steps: Sequence[Step], skip: Sequence[str] = (), confirm: Sequence[str] = ()) -> tuple[Step, ...]:
    """The steps with what is skipped taken out and what is confirmed taken in: by id, the start of one, or kind.

    Raises NotFoundError, AmbiguousError.
    """
    known = {step.id: step for step in steps}
    off = {step.id for name in skip for step in _named(known, name)}
    on = {step.id for name in confirm for step in _named(known, name)}
    return tuple(
        [
            step._replace(selected=(step.selected or step.id in on) and step.id not in off)
            if step.id in off | on
            else step
            for step in steps
        ]
    )


def _named(steps: Mapping[str, Step], name: str) -> list[Step]:
    wanted = name.strip().lower()
    if wanted in steps:
        return [steps[wanted]]
    if wanted in KINDS:
        return [step for step in steps.values() if step.kind == wanted]
    found = [step for step in steps.values() if wanted and step.id.startswith(wanted)]
    if not found:
        raise NotFoundError(
            f"No step of the plan is called '{name[:40]}'.", "`engram consolidate` lists them."
        )
    if len(found) > 1:
        raise AmbiguousError(
            f"'{name}' begins {len(found)} ids of steps.",
            "Give more of it.",
            tuple((step.id, f"{step.kind}: {step.title}") for step in found),
        )
    return found
