"""Judged retrievals: queries of the activity log with the judgements of the entries that they showed."""

from __future__ import annotations

from engram.adapters.state.judgements import judgements
from engram.domain.entry.confidence import HELPFUL
from engram.domain.recall.retrieval_measures import Question
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.activity_log import QUERY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.state.activity_table import ActivityLine
    from engram.adapters.state.database import StateDatabase

LATEST = 20_000  # queries read
MOST_QUESTIONS = 600  # replayed, the latest
_DAY = 86_400.0


class JudgedRetrieval(NamedTuple):
    """A query of the activity log, and its session's judgements by entry id."""

    entry: ActivityLine
    kinds: Mapping[str, str]


def judged_retrievals(state: StateDatabase, own: Collection[str]) -> list[JudgedRetrieval]:
    """Return the judged queries, latest first; a judgement belongs to the last query of its session that showed the entry."""
    asked: dict[tuple[str, str], list[ActivityLine]] = {}
    entries = [entry for entry in state.live.latest(LATEST, QUERY) if entry.query]
    for entry in entries:
        for lore_id in entry.ids:
            asked.setdefault((entry.session, lore_id), []).append(entry)
    kinds: dict[int, dict[str, str]] = {}
    for judgement in judgements(state, own, LATEST):
        for entry in asked.get((judgement.session, judgement.id), ()):
            is_later = entry.number < judgement.number if judgement.number else entry.at <= judgement.at
            if is_later and judgement.at <= entry.at + _DAY:
                kinds.setdefault(entry.number, {})[judgement.id] = judgement.kind
                break
    return [JudgedRetrieval(entry, kinds[entry.number]) for entry in entries if entry.number in kinds]


def questions_of(retrievals: Sequence[JudgedRetrieval], existing: Collection[str]) -> list[Question]:
    """Return the distinct questions with the latest judgement of each entry that still exists."""
    judged: dict[str, dict[str, str]] = {}
    for entry, kinds in retrievals:
        known = judged.setdefault(entry.query, {})
        for lore_id, kind in kinds.items():
            if lore_id in existing:
                known.setdefault(lore_id, kind)
    found = []
    for text, kinds in judged.items():
        helpful = frozenset(lore_id for lore_id, kind in kinds.items() if kind == HELPFUL)
        if kinds:
            found.append(Question(text, helpful, frozenset(kinds) - helpful))
    return found[:MOST_QUESTIONS]
