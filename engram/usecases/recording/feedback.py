"""Feedback: what was helpful, incorrect or not relevant."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, KINDS, NOT_RELEVANT, two_decimals
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.opening.scopes import reach
from engram.usecases.store import activity_log, entry_writer, judgements, learned_moments
from engram.usecases.store.judgement_words import _WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


class Judged(NamedTuple):
    """One entry after feedback. `repeated` says that this session had said the same before, so nothing changed."""

    id: str
    ref: str
    kind: str
    previous: float
    current: float
    validation_count: int
    repeated: bool


def feedback(
    store: Store,
    *,
    helpful: Sequence[str] = (),
    not_relevant: Sequence[str] = (),
    incorrect: Sequence[str] = (),
    scope: str = "",
    again: bool = False,
) -> list[Judged]:
    """Judge lore by ref, id, id prefix or words of it. The same judgement of an entry counts once a session unless `again`.
    With a `scope` only lore of it is meant.

    All names are resolved before anything is written. Raises UsageError, NotFoundError, AmbiguousError, NotAllowedError.
    """
    wanted = [(HELPFUL, name) for name in helpful] + [(INCORRECT, name) for name in incorrect]
    wanted += [(NOT_RELEVANT, name) for name in not_relevant]
    if not wanted:
        raise UsageError("No feedback was given.", "For example: engram feedback --helpful L1 --incorrect L2")
    store = reach(store, scope)
    with store.lock:
        found = [(kind, resolve(store, name)) for kind, name in wanted]
        _refuse_contradiction(found)
        for kind, lore in found:
            if kind != NOT_RELEVANT:
                entry_writer.check_writable(lore.store)
                entry_writer.check_allowed(lore.store, "judge", path=lore.path)
        judged = _judge(list(dict.fromkeys(found)), again)
        counts = {kind: sum(one.kind == kind for one in judged) for kind in KINDS}
        activity_log.note(store, "feedback", ids=[one.id for one in judged], details=counts)
        return judged


def _refuse_contradiction(found: Sequence[tuple[str, Found]]) -> None:
    kinds: dict[str, str] = {}
    for kind, lore in found:
        if kinds.setdefault(lore.id, kind) != kind:
            raise UsageError(
                f"{lore.ref or lore.id} was judged {_WORDS[kinds[lore.id]]} and {_WORDS[kind]} at once.",
                "Give one judgement for each entry.",
            )


def _judge(found: Sequence[tuple[str, Found]], again: bool) -> list[Judged]:
    """Append what is new of these judgements, those of one store together: they are undone together."""
    entries = [entry_writer.load(one.store, one.path).lore for _, one in found]
    repeated = [
        one.store.state.has_judged(one.store.caller.session, one.id, kind) and not again
        for kind, one in found
    ]
    new: dict[Store, list[tuple[Lore, str]]] = {}
    for (kind, one), lore, was_said in zip(found, entries, repeated, strict=True):
        if not was_said and not one.store.scope.readonly:
            new.setdefault(one.store, []).append((lore, kind))
    for store, said in new.items():
        judgements.judge(store, said)
    judged = []
    for (kind, one), before, was_said in zip(found, entries, repeated, strict=True):
        store, after = one.store, before
        if not was_said and store in new:
            after = judgements.with_tally(store, before)
            if kind != NOT_RELEVANT:
                credit.confirm_by_feedback(store, after, kind)
        store.state.record_feedback(store.caller.session, one.id, kind, store.clock.now().timestamp())
        if not was_said:
            learned_moments.learn_from_feedback(store, one.id, kind)
        figures = before.confidence, after.confidence, after.validation_count
        judged.append(Judged(one.id, one.ref, kind, *figures, was_said))
    return judged


def describe(judged: Judged) -> str:
    """Return one line for people: what was judged, and what its confidence became."""
    change_ = f"{two_decimals(round(judged.previous * 1000))} → {two_decimals(round(judged.current * 1000))}"
    note = " (already judged so in this session; --again counts it again)" if judged.repeated else ""
    return f"{judged.ref or judged.id} {_WORDS[judged.kind]}: confidence {change_}, helpful {judged.validation_count}×{note}"
