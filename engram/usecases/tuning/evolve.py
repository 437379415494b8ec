"""Evolution: what the judged retrievals tell of the ranking, and which bounded changes would have served them better.

A change is found with one half of the judged questions and confirmed with the other, by asking them all again of a
copy of the index. The judgements of this clone are taken off the lore first: what was called helpful has a better
standing since, and would speak for itself.
"""

from __future__ import annotations

from engram.adapters.state.judgements import own_votes
from engram.domain.entry.lore import ACTIVE
from engram.domain.recall import ranking
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import LEAST_JUDGED, Evolution
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.replay import open_replayer
from engram.usecases.index.index_query import consult
from engram.usecases.recall.usage import latest_queries, log_of
from engram.usecases.tuning.effectiveness import effectiveness
from engram.usecases.tuning.judged_retrievals import judged_retrievals, questions_of
from engram.usecases.tuning.settings_search import Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.confidence import Vote
    from engram.usecases.consolidation.replay import Replayer
    from engram.usecases.store.store import Store

MOST_REPLAYED = 300  # past questions, the latest


def evolve(store: Store) -> Evolution:
    """What could be better, and what is; nothing is changed. Raises StoreError."""
    from engram.usecases.tuning.scope_weights import weigh_scopes  # it builds on this module

    with store.lock:
        own = consult(store, lambda generation: {hit.id for hit in generation.catalog.select("1")})
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


def active_ids(store: Store) -> set[str]:
    """The ids of the lore that a store can show."""
    found = consult(store, lambda generation: generation.catalog.select("status = ?", (ACTIVE,)))
    return {hit.id for hit in found}


class RankingTrial(Trial):
    """The settings of the ranking, tried on one store."""

    def __init__(self, store: Store, replayer: Replayer) -> None:
        """`replayer` is of this store."""
        super().__init__(ranking_of(store), ranking.KEYS)
        self._settings = store.settings
        self._replayer = replayer
        forget_own_votes(store, replayer)

    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """As `Trial.ask`."""
        self._replayer.use_settings(self._settings.but(values))
        return {text: tuple([hit.id for hit in hits]) for text, hits in self._replayer.shown(texts).items()}


def ranking_of(store: Store) -> dict[str, float]:
    """The settings of the ranking as they are."""
    return {key: store.settings.number(key) for key in ranking.KEYS}


def forget_own_votes(store: Store, replayer: Replayer) -> None:
    """Have the lore rehearsed as if nobody here had judged them."""
    votes = own_votes(store.state)
    replayer.revise_hits(lambda hit: _unjudged(hit, votes[hit.id]) if hit.id in votes else hit)


def _unjudged(hit: Hit, vote: Vote) -> Hit:
    """A lore as it would be if nobody here had judged it."""
    count = max(0, hit.validation_count - vote.n)
    return hit._replace(
        confidence=min(1000, max(0, hit.confidence - vote.up + vote.down)),
        validation_count=count,
        last_validated=hit.last_validated if count else None,
        updated_at=hit.created_at,
    )
