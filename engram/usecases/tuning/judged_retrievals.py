"""Which retrievals of the live record were judged: queries, and what was said of the lore that they showed."""

from __future__ import annotations

from engram.adapters.state.judgements import judgements
from engram.domain.entry.confidence import HELPFUL
from engram.domain.recall.judged import Question
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.activity_log import QUERY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.state.activity_table import LiveEntry
    from engram.adapters.state.database import StateDatabase

LATEST = 20_000  # queries that are looked at
MOST_QUESTIONS = 600  # that are asked again, the latest
_DAY = 86_400.0


class JudgedRetrieval(NamedTuple):
    """A query of the live record, and by lore id what its session said of what it showed."""

    entry: LiveEntry
    kinds: Mapping[str, str]


def judged_retrievals(state: StateDatabase, own: Collection[str]) -> list[JudgedRetrieval]:
    """The judged queries, the latest first. A judgement is of the last query before it, in its session, that showed the lore."""
    asked: dict[tuple[str, str], list[LiveEntry]] = {}
    entries = [entry for entry in state.live.latest(LATEST, QUERY) if entry.query]
    for entry in entries:
        for lore_id in entry.ids:
            asked.setdefault((entry.session, lore_id), []).append(entry)
    kinds: dict[int, dict[str, str]] = {}
    for said in judgements(state, own, LATEST):
        for entry in asked.get((said.session, said.id), ()):
            is_later = entry.number < said.number if said.number else entry.at <= said.at
            if is_later and said.at <= entry.at + _DAY:
                kinds.setdefault(entry.number, {})[said.id] = said.kind
                break
    return [JudgedRetrieval(entry, kinds[entry.number]) for entry in entries if entry.number in kinds]


def questions_of(retrievals: Sequence[JudgedRetrieval], there: Collection[str]) -> list[Question]:
    """The different questions, with what is known of the lore that are still there; what was said last counts."""
    said: dict[str, dict[str, str]] = {}
    for entry, kinds in retrievals:
        known = said.setdefault(entry.query, {})
        for lore_id, kind in kinds.items():
            if lore_id in there:
                known.setdefault(lore_id, kind)
    found = []
    for text, kinds in said.items():
        helpful = frozenset(one for one, kind in kinds.items() if kind == HELPFUL)
        if kinds:
            found.append(Question(text, helpful, frozenset(kinds) - helpful))
    return found[:MOST_QUESTIONS]
