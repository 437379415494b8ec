"""Evolve the ranking: measure it by judged retrievals, and find bounded changes that would have served better.

A change is found with one half of the judged questions and confirmed with the other, by replaying them on a copy of the
index. The judgements of this clone are first removed from the copy: they raised entries judged helpful, which would then
be evidence for themselves.
"""

from __future__ import annotations

import contextlib

from engram.domain.entry.lore import ACTIVE
from engram.domain.scopes import SESSION
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import LEAST_JUDGED, Evolution, Proposal, Replay
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.replay import Replayer, open_replayer
from engram.usecases.index.index_query import query_index
from engram.usecases.opening.scopes import TROUBLE, others
from engram.usecases.recall.usage import latest_queries, log_of
from engram.usecases.tuning.effectiveness import effectiveness
from engram.usecases.tuning.judged_retrievals import JudgedRetrieval, judged_retrievals, questions_of
from engram.usecases.tuning.settings_search import RankingTrial, ScopeTrial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.recall.retrieval_measures import Question
    from engram.usecases.store.store import Store

MOST_REPLAYED = 300  # past questions, the latest


def evolve(store: Store) -> Evolution:
    """Measure the ranking and propose changes, without making them. Raises StoreError."""
    with store.lock:
        own = query_index(store, lambda generation: {hit.id for hit in generation.catalog.select("1")})
        retrievals = judged_retrievals(log_of(store), own)
        questions = questions_of(retrievals, active_ids(store))
        with open_replayer(store) as replayer:
            shown = replayer.shown([question.text for question in questions])
            trial = RankingTrial(store, replayer)
            tables = effectiveness(store, retrievals, shown)
            count = len(retrievals)
            if count < LEAST_JUDGED:
                return Evolution(count, len(questions), tables, why=evolution.why_none(count, questions))
            proposals, past = trial.proposals(questions), latest_queries(store, MOST_REPLAYED)
            replay = trial.replay(questions, past, proposals) if proposals else None
            weights, further, everywhere = weigh_scopes(store, replayer, retrievals, past, proposals)
        if further:
            questions = further
        if not (proposals or weights):
            return Evolution(count, len(questions), tables, why=evolution.why_none(count, questions))
        return Evolution(count, len(questions), tables, (*proposals, *weights), everywhere or replay)


def weigh_scopes(
    store: Store,
    replayer: Replayer,
    retrievals: Sequence[JudgedRetrieval],
    past: Sequence[str],
    before: Sequence[Proposal],
) -> tuple[list[Proposal], list[Question], Replay | None]:
    """Propose scope weights on top of the proposals `before`; none if only one scope is queried.

    Also return the questions that they are based on, and the replay of all proposals on these and the `past` ones.
    """
    with contextlib.ExitStack() as stack:
        replayers, existing = [(store, replayer)], active_ids(store)
        for other in others(store):
            if other.places.scope == SESSION or other.scope.readonly:
                continue  # it ends with its session, or nobody may judge its entries
            try:
                other.borrow_embedder(store)
                ids = active_ids(other)
                if ids:
                    replayers.append((other, stack.enter_context(open_replayer(other))))
                    existing |= ids
            except TROUBLE:
                continue  # queries skip it, too
        if len(replayers) == 1:
            return [], [], None
        questions = questions_of(retrievals, existing)
        trial = ScopeTrial(replayers)
        trial.assume(before)
        found = trial.proposals(questions)
        if not found:
            return [], questions, None
        return found, questions, trial.replay(questions, past, [*before, *found])


def active_ids(store: Store) -> set[str]:
    """Return the ids of the active entries of a store."""
    found = query_index(store, lambda generation: generation.catalog.select("status = ?", (ACTIVE,)))
    return {hit.id for hit in found}
