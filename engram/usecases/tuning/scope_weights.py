"""Evolution of the weights of scopes: the answers of several stores, put together under other weights."""

from __future__ import annotations

import contextlib

from engram.domain.recall import ranking
from engram.domain.scopes import SESSION, weight_key
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.replay import open_replayer
from engram.usecases.opening.scopes import TROUBLE, others
from engram.usecases.recall.query_scopes import Weighing, best_first
from engram.usecases.tuning.evolve import active_ids, forget_own_votes, ranking_of
from engram.usecases.tuning.judged_retrievals import questions_of
from engram.usecases.tuning.settings_search import Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.recall.judged import Question
    from engram.domain.tuning.evolution import Proposal, Replay
    from engram.usecases.consolidation.replay import Replayer
    from engram.usecases.recall.search import Candidate
    from engram.usecases.store.store import Store
    from engram.usecases.tuning.judged_retrievals import JudgedRetrieval


class ScopeTrial(Trial):
    """The weights of scopes, tried on the stores that a query asks; the ranking of the first may be another, too."""

    def __init__(self, replayers: Sequence[tuple[Store, Replayer]]) -> None:
        """The first is the store where one stands. A session's is not among them: its lore is gone by the next."""
        self._replayers = replayers
        home = replayers[0][0]
        self._weights = {weight_key(store.places.scope): store.scope.weight for store, _ in replayers}
        super().__init__({**ranking_of(home), **self._weights}, self._weights.keys())
        self._limit = int(home.settings.number("recall.limit"))
        self._found: dict[tuple[float, ...], dict[str, list[tuple[Store, None, Candidate]]]] = {}
        for store, replayer in replayers:
            forget_own_votes(store, replayer)

    def on_top_of(self, proposals: Sequence[Proposal]) -> None:
        """Try from now on with what is proposed already."""
        self._present |= {one.key: one.after for one in proposals}

    def ask(self, texts: Sequence[str], values: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
        """As `Trial.ask`: what each store finds is looked up once, since weights change only the order."""
        tuned = {key: values[key] for key in ranking.KEYS}
        known = self._found.setdefault(tuple(tuned.values()), {})
        unknown = [text for text in texts if text not in known]
        if unknown:
            known |= self._look_up(unknown, tuned)
        weighings = {
            store.places.scope: Weighing(
                values[weight_key(store.places.scope)], store.settings.number(ranking.THRESHOLD_KEY)
            )
            for store, _ in self._replayers
        }
        home = self._replayers[0][0].places.scope
        weighings[home] = weighings[home]._replace(threshold=tuned[ranking.THRESHOLD_KEY])
        return {text: self._shown(known[text], weighings) for text in texts}

    def _shown(
        self, found: Sequence[tuple[Store, None, Candidate]], weighings: Mapping[str, Weighing]
    ) -> tuple[str, ...]:
        ids = dict.fromkeys([hit.id for _, _, hit in best_first(found, weighings)])
        return tuple(ids)[: self._limit]

    def _look_up(
        self, texts: Sequence[str], tuned: Mapping[str, float]
    ) -> dict[str, list[tuple[Store, None, Candidate]]]:
        found: dict[str, list[tuple[Store, None, Candidate]]] = {text: [] for text in texts}
        for place, (store, replayer) in enumerate(self._replayers):
            replayer.use_settings(store.settings.but(tuned) if place == 0 else store.settings)
            for text, hits in replayer.candidates(texts).items():
                found[text] += [(store, None, hit) for hit in hits]
        return found


def weigh_scopes(
    store: Store,
    replayer: Replayer,
    retrievals: Sequence[JudgedRetrieval],
    past: Sequence[str],
    before: Sequence[Proposal],
) -> tuple[list[Proposal], list[Question], Replay | None]:
    """Weights that would serve the judged queries better, on top of what is proposed `before`; none where one scope is asked.

    With them the questions that they rest on, and what all proposals together make of those and of `past` ones.
    """
    with contextlib.ExitStack() as stack:
        replayers, there = [(store, replayer)], active_ids(store)
        for other in others(store):
            if other.places.scope == SESSION or other.scope.readonly:
                continue  # gone by the next session; and of what nobody may judge nothing is learned
            try:
                other.borrow_embedder(store)
                ids = active_ids(other)
                if ids:
                    replayers.append((other, stack.enter_context(open_replayer(other))))
                    there |= ids
            except TROUBLE:
                continue  # a query leaves it out, too
        if len(replayers) == 1:
            return [], [], None
        questions = questions_of(retrievals, there)
        trial = ScopeTrial(replayers)
        trial.on_top_of(before)
        found = trial.proposals(questions)
        if not found:
            return [], questions, None
        return found, questions, trial.replay(questions, past, [*before, *found])
