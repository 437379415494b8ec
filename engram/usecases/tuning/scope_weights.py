"""Evolution of the weights of scopes: the answers of several stores, put together under other weights."""

from __future__ import annotations

import contextlib

from engram.domain.recall import ranking
from engram.domain.scopes import SESSION, weight_key
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.consolidation.replay import rehearsing
from engram.usecases.opening.scopes import TROUBLE, others
from engram.usecases.recall.query import Weighting, best_first
from engram.usecases.tuning.evolve import active_ids, forget_own_votes, ranking_of
from engram.usecases.tuning.judged_retrievals import questions_of
from engram.usecases.tuning.settings_search import Trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.recall.judged import Question
    from engram.domain.tuning.evolution import Proposal, Replay
    from engram.usecases.consolidation.replay import Rehearsal
    from engram.usecases.recall.search import Candidate
    from engram.usecases.store.store import Store
    from engram.usecases.tuning.judged_retrievals import JudgedRetrieval


class ScopeTrial(Trial):
    """The weights of scopes, tried on the stores that a query asks; the ranking of the first may be another, too."""

    def __init__(self, rehearsals: Sequence[tuple[Store, Rehearsal]]) -> None:
        """The first is the store where one stands. A session's is not among them: its lore is gone by the next."""
        self._rehearsals = rehearsals
        home = rehearsals[0][0]
        self._weights = {weight_key(store.places.scope): store.scope.weight for store, _ in rehearsals}
        super().__init__({**ranking_of(home), **self._weights}, self._weights.keys())
        self._limit = int(home.settings.number("recall.limit"))
        self._found: dict[tuple[float, ...], dict[str, list[tuple[str, Candidate]]]] = {}
        for store, rehearsal in rehearsals:
            forget_own_votes(store, rehearsal)

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
        weightings = {
            store.places.scope: Weighting(
                values[weight_key(store.places.scope)], store.settings.number(ranking.THRESHOLD_KEY)
            )
            for store, _ in self._rehearsals
        }
        home = self._rehearsals[0][0].places.scope
        weightings[home] = weightings[home]._replace(threshold=tuned[ranking.THRESHOLD_KEY])
        return {text: self._shown(known[text], weightings) for text in texts}

    def _shown(
        self, found: Sequence[tuple[str, Candidate]], weightings: Mapping[str, Weighting]
    ) -> tuple[str, ...]:
        ids = dict.fromkeys([hit.id for _, hit in best_first(found, weightings)])
        return tuple(ids)[: self._limit]

    def _look_up(
        self, texts: Sequence[str], tuned: Mapping[str, float]
    ) -> dict[str, list[tuple[str, Candidate]]]:
        found: dict[str, list[tuple[str, Candidate]]] = {text: [] for text in texts}
        for place, (store, rehearsal) in enumerate(self._rehearsals):
            rehearsal.tune(store.settings.but(tuned) if place == 0 else store.settings)
            for text, hits in rehearsal.candidates(texts).items():
                found[text] += [(store.places.scope, hit) for hit in hits]
        return found


def weigh_scopes(
    store: Store,
    rehearsal: Rehearsal,
    retrievals: Sequence[JudgedRetrieval],
    past: Sequence[str],
    before: Sequence[Proposal],
) -> tuple[list[Proposal], list[Question], Replay | None]:
    """Weights that would serve the judged queries better, on top of what is proposed `before`; none where one scope is asked.

    With them the questions that they rest on, and what all proposals together make of those and of `past` ones.
    """
    with contextlib.ExitStack() as stack:
        rehearsals, there = [(store, rehearsal)], active_ids(store)
        for other in others(store):
            if other.places.scope == SESSION or other.scope.readonly:
                continue  # gone by the next session; and of what nobody may judge nothing is learned
            try:
                other.borrow_embedder(store)
                ids = active_ids(other)
                if ids:
                    rehearsals.append((other, stack.enter_context(rehearsing(other))))
                    there |= ids
            except TROUBLE:
                continue  # a query leaves it out, too
        if len(rehearsals) == 1:
            return [], [], None
        questions = questions_of(retrievals, there)
        trial = ScopeTrial(rehearsals)
        trial.on_top_of(before)
        found = trial.proposals(questions)
        if not found:
            return [], questions, None
        return found, questions, trial.replay(questions, past, [*before, *found])
