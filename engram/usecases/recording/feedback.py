"""Feedback: what was helpful, incorrect or not relevant."""

from __future__ import annotations

from engram.domain.entry import confidence, times
from engram.domain.entry.confidence import HELPFUL, INCORRECT, KINDS, NOT_RELEVANT, two_decimals
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.store import activity_log, entry_writer
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
    again: bool = False,
) -> list[Judged]:
    """Judge lore by ref, id, id prefix or words of it. The same judgement of an entry counts once a session unless `again`.

    All names are resolved before anything is written. Raises UsageError, NotFoundError, AmbiguousError, NotAllowedError.
    """
    wanted = [(HELPFUL, name) for name in helpful] + [(INCORRECT, name) for name in incorrect]
    wanted += [(NOT_RELEVANT, name) for name in not_relevant]
    if not wanted:
        raise UsageError("No feedback was given.", "For example: engram feedback --helpful L1 --incorrect L2")
    with store.lock:
        found = [(kind, resolve(store, name)) for kind, name in wanted]
        _refuse_contradiction(found)
        for kind, lore in found:
            if kind != NOT_RELEVANT:
                entry_writer.check_writable(lore.store)
                entry_writer.check_allowed(lore.store, "judge", path=lore.path)
        judged = [_judge(lore.store, kind, lore, again) for kind, lore in dict.fromkeys(found)]
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


def _judge(store: Store, kind: str, found: Found, again: bool) -> Judged:
    assert kind in KINDS
    repeated = store.state.has_judged(store.caller.session, found.id, kind) and not again
    if kind == NOT_RELEVANT or repeated:
        lore = entry_writer.load(store, found.path).lore
        done = entry_writer.Changed(found.path, lore, lore)
    else:
        done = _vote(store, kind, found)
    store.state.judged(store.caller.session, found.id, kind, store.clock.now().timestamp())
    before, after = done.before, done.after
    return Judged(
        found.id, found.ref, kind, before.confidence, after.confidence, after.validation_count, repeated
    )


def _vote(store: Store, kind: str, found: Found) -> entry_writer.Changed:
    done = entry_writer.update(
        store,
        found.path,
        found.id,
        lambda lore: voted(store, lore, kind),
        f"feedback: {_WORDS[kind]} ({found.id})",
        lambda before, after: [("Engram-Delta", f"{after.confidence - before.confidence:+.2f}")],
    )
    store.state.keep_vote(found.id, done.after.votes[store.source])
    credit.judged(store, done.after, kind)
    return done


def voted(store: Store, lore: Lore, kind: str) -> Lore:
    """Return the lore with one more vote of this clone.

    The clone's own memory of its votes counts too: on another branch the file may not have them yet.
    """
    mine = confidence.larger([lore.votes.get(store.source, confidence.Vote()), store.state.vote(lore.id)])
    known = lore._replace(votes={**lore.votes, store.source: mine})
    vote = confidence.judge(mine, known.thousandths, kind)
    validated = times.whole_seconds(store.clock.now()) if kind == HELPFUL else lore.last_validated
    return known._replace(votes={**known.votes, store.source: vote}, last_validated=validated)


def describe(judged: Judged) -> str:
    """Return one line for people: what was judged, and what its confidence became."""
    change_ = f"{two_decimals(round(judged.previous * 1000))} → {two_decimals(round(judged.current * 1000))}"
    note = " (already said in this session; --again counts it once more)" if judged.repeated else ""
    return f"{judged.ref or judged.id} {_WORDS[judged.kind]}: confidence {change_}, helpful {judged.validation_count}×{note}"
