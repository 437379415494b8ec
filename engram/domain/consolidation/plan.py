"""A consolidation plan: its steps, which of them are selected, and the result of its rehearsal."""

from __future__ import annotations

from engram.domain.errors import AmbiguousError, NotFoundError, UsageError
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from engram.domain.entry.lore import Lore

MERGE, SUPERSEDE, ARCHIVE, PROMOTE, DECAY = KINDS = ("merge", "supersede", "archive", "promote", "decay")
EFFECTS = {
    MERGE: "equivalent entries become one",
    SUPERSEDE: "replaced by another entry",
    ARCHIVE: "kept, but not recalled",
    PROMOTE: "copied to a wider scope",
    DECAY: "nothing: what fades is computed when it is read",
}


class Step(NamedTuple):
    """One step of a plan; its `id` is the same on every machine while it is about the same entries.

    `lore` has the ids concerned, for a merge the remaining one first; `paths` and `digests` are those of their files when
    the plan was made. `before` and `after` are the confidence (thousandths) of the remaining entry, `result` is that entry
    afterwards (merges and promotions from sessions). `cosine` is the lowest between texts of a merge, else 0. `to` is the
    scope promoted to, `session` the root of the session store promoted from. A step with `confirm` is done only on
    request; `selected` says whether the plan does it.
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
    to: str = ""
    session: str = ""
    confirm: bool = False
    selected: bool = True


class Unresolved(NamedTuple):
    """Two entries near enough to merge that disagree, left to a person. `why` is a clause, `other` the second title."""

    lore: tuple[str, ...]
    title: str
    why: str
    cosine: float
    other: str = ""


class Difference(NamedTuple):
    """A past query whose answer the plan changes: the ids before and after, best first."""

    query: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class Withheld(NamedTuple):
    """A step left out of the plan because `query` would lose `lore`, the id of a helpful entry."""

    step: Step
    query: str
    lore: str


class Rehearsal(NamedTuple):
    """How a plan changes the answers of past queries.

    Of `queries` replayed, answers are unchanged, shorter, longer, or changed in their entries or order. `left_out` counts
    older queries that were not replayed.
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
        """The result in words."""
        if not self.queries:
            return "no past queries to rehearse on"
        parts = [f"{self.unchanged:,} stay as they are"]
        parts += [f"{self.shorter:,} get shorter"] if self.shorter else []
        parts += [f"{self.longer:,} get longer"] if self.longer else []
        parts += [f"{self.changed:,} change"] if self.changed else []
        asked = counted(self.queries, "past query", "past queries")
        return f"rehearsed on {asked}: 0 lose a helpful answer, {', '.join(parts)}"


class Plan(NamedTuple):
    """The steps of a consolidation. Those that would cost a past query a helpful answer are in `withheld` instead."""

    made_at: datetime
    steps: tuple[Step, ...]
    left: tuple[Unresolved, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    rehearsal: Rehearsal = Rehearsal()

    @property
    def selected(self) -> tuple[Step, ...]:
        """The selected steps."""
        return tuple([step for step in self.steps if step.selected])

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of selected steps by kind."""
        return counts(self.selected)


def counts(steps: Sequence[Step]) -> dict[str, int]:
    """Count the steps by kind, without kinds that have none."""
    found = {kind: sum(step.kind == kind for step in steps) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return these kinds in the order of KINDS, all if none are given. Raises UsageError for an unknown kind."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"'{kind}' is not a kind of step.", f"Kinds: {', '.join(KINDS)}.")
    return tuple([kind for kind in KINDS if kind in kinds]) or KINDS


def choose(steps: Sequence[Step], skip: Sequence[str] = (), confirm: Sequence[str] = ()) -> tuple[Step, ...]:
    """Deselect the skipped steps and select the confirmed ones, named by id, id prefix, or kind.

    Raises NotFoundError, AmbiguousError.
    """
    known = {step.id: step for step in steps}
    skipped = {step.id for name in skip for step in _find_steps(known, name)}
    confirmed = {step.id for name in confirm for step in _find_steps(known, name)}
    return tuple(
        [
            step._replace(selected=(step.selected or step.id in confirmed) and step.id not in skipped)
            for step in steps
        ]
    )


def _find_steps(steps: Mapping[str, Step], name: str) -> list[Step]:
    wanted = name.strip().lower()
    if wanted in steps:
        return [steps[wanted]]
    if wanted in KINDS:
        return [step for step in steps.values() if step.kind == wanted]
    found = [step for step in steps.values() if wanted and step.id.startswith(wanted)]
    if not found:
        raise NotFoundError(f"The plan has no step '{name[:40]}'.", "`engram consolidate` lists them.")
    if len(found) > 1:
        raise AmbiguousError(
            f"'{name}' is the prefix of {len(found)} step ids.",
            "Give more characters of the id.",
            tuple((step.id, f"{step.kind}: {step.title}") for step in found),
        )
    return found
