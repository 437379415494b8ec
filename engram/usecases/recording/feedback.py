"""Feedback: judge entries as helpful, incorrect or not relevant."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, KINDS, NOT_RELEVANT, two_decimals
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.opening.scopes import open_scope_of
from engram.usecases.store import activity_log, entry_writer, judgements, learned_moments
from engram.usecases.store.judgement_words import FEEDBACK_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


class Judged(NamedTuple):
    """An entry after feedback. `repeated`: this session had judged it so before, so nothing changed."""

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
    """Judge entries named by ref, id, id prefix or words, with a `scope` only those of that scope.

    The same judgement of an entry counts once a session unless `again`. All names are resolved before anything is written.
    Raises UsageError, NotFoundError, AmbiguousError, NotAllowedError.
    """
    wanted = [(HELPFUL, name) for name in helpful] + [(INCORRECT, name) for name in incorrect]
    wanted += [(NOT_RELEVANT, name) for name in not_relevant]
    if not wanted:
        raise UsageError("No feedback was given.", "For example: engram feedback --helpful L1 --incorrect L2")
    store = open_scope_of(store, scope)
    with store.lock:
        found = [(kind, resolve(store, name)) for kind, name in wanted]
        _refuse_contradiction(found)
        for kind, entry in found:
            if kind != NOT_RELEVANT:
                entry_writer.check_writable(entry.store)
                entry_writer.check_allowed(entry.store, "judge", path=entry.path)
        judged = _judge(list(dict.fromkeys(found)), again)
        counts = {kind: sum(entry.kind == kind for entry in judged) for kind in KINDS}
        activity_log.note(store, "feedback", ids=[entry.id for entry in judged], details=counts)
        return judged


def _refuse_contradiction(found: Sequence[tuple[str, Found]]) -> None:
    kinds: dict[str, str] = {}
    for kind, entry in found:
        if kinds.setdefault(entry.id, kind) != kind:
            raise UsageError(
                f"{entry.ref or entry.id} was judged {FEEDBACK_WORDS[kinds[entry.id]]} and {FEEDBACK_WORDS[kind]} at once.",
                "Give one judgement for each entry.",
            )


def _judge(found: Sequence[tuple[str, Found]], again: bool) -> list[Judged]:
    """Append the new ones of these judgements, those of one store at once, so that they are undone together."""
    lore_before = [entry_writer.load(entry.store, entry.path).lore for _, entry in found]
    repeated = [
        entry.store.state.has_judged(entry.store.caller.session, entry.id, kind) and not again
        for kind, entry in found
    ]
    new: dict[Store, list[tuple[Lore, str]]] = {}
    for (kind, entry), lore, is_repeated in zip(found, lore_before, repeated, strict=True):
        if not is_repeated and not entry.store.scope.readonly:
            new.setdefault(entry.store, []).append((lore, kind))
    for store, new_judgements in new.items():
        judgements.judge(store, new_judgements)
    judged = []
    for (kind, entry), before, is_repeated in zip(found, lore_before, repeated, strict=True):
        store, after = entry.store, before
        if not is_repeated and store in new:
            after = judgements.with_tally(store, before)
            if kind != NOT_RELEVANT:
                credit.confirm_by_feedback(store, after, kind)
        store.state.record_feedback(store.caller.session, entry.id, kind, store.clock.now().timestamp())
        if not is_repeated:
            learned_moments.learn_from_feedback(store, entry.id, kind)
        figures = before.confidence, after.confidence, after.validation_count
        judged.append(Judged(entry.id, entry.ref, kind, *figures, is_repeated))
    return judged


def describe(judged: Judged) -> str:
    """Return a line for people: the entry, the judgement and its new confidence."""
    change = f"{two_decimals(round(judged.previous * 1000))} → {two_decimals(round(judged.current * 1000))}"
    note = " (already judged so in this session; --again counts it again)" if judged.repeated else ""
    return f"{judged.ref or judged.id} {FEEDBACK_WORDS[judged.kind]}: confidence {change}, helpful {judged.validation_count}×{note}"
