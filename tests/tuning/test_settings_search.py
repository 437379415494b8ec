"""Weights of scopes that judged queries prove better, by the answers of all scopes together."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, make_plain_store, ok
from evolve_kit import lines, record_set

import engram
from engram.adapters.files import config_file, places
from engram.domain.recall.retrieval_measures import Interval, Quality
from engram.domain.tuning.evolution import Evidence, Evolution, Proposal, steps, verdict
from engram.usecases.consolidation.replay import open_replayer
from engram.usecases.opening.scopes import open_scope_of, others
from engram.usecases.tuning.settings_search import ScopeTrial

if TYPE_CHECKING:
    from engram.app import Engram

WEIGHT = "scopes.user.weight"
ASKED, OTHERS = 50, 45
FINE = Quality(0.5, 0.5, 1.0, 40)
EVIDENCE = Evidence(40, 20, FINE, FINE._replace(ndcg=0.6), Interval(0.1, 0.02, 0.2))


def at(root: Path, clock: SetClock, scope: str = "") -> Engram:
    return engram.open(
        scope=scope, working=str(root), session="s", agent="human", clock=clock, environment={}
    )


def weigh(value: float) -> None:
    config_file.change(places.user_config_file(), WEIGHT, value)


@pytest.mark.slow
def test_a_helpful_scope_with_too_little_weight_gets_more(tmp_path: Path) -> None:
    root, clock = make_plain_store(tmp_path / "project"), SetClock()
    make_plain_store(Path(places.user_store()))
    asked = [one for one in lines("queries.jsonl") if one["kind"] in ("paraphrase", "task")][:ASKED]
    mine = {key for one in asked for key in one["relevant"]}
    rest = set([one["key"] for one in lines("lore.jsonl") if one["key"] not in mine][:OTHERS])
    with at(root, clock, "user") as user, at(root, clock) as project:
        ids = record_set(user, mine.__contains__) | record_set(project, rest.__contains__)
    weigh(0.8)
    with at(root, clock) as project:
        answers = {one["q"]: [hit.lore.id for hit in project.query(one["q"]).lore] for one in asked[:10]}
        with ExitStack() as stack:
            both = (project.store, open_scope_of(project.store, "user"))
            trial = ScopeTrial([(store, stack.enter_context(open_replayer(store))) for store in both])
            again = trial.ask([*answers], trial._present)
        assert {text: [*shown] for text, shown in again.items()} == answers, "as the query itself"
        for one in asked:
            relevant = {ids[key] for key in one["relevant"]}
            shown = [hit.lore.id for hit in project.query(one["q"]).lore]
            clock.advance(seconds=20)
            helped = [lore_id for lore_id in shown if lore_id in relevant]
            wrong = [lore_id for lore_id in shown[:2] if lore_id not in relevant][:1]
            project.feedback(helpful=helped, not_relevant=wrong)
        user_file, own = Path(places.user_config_file()), (root / places.CONFIG_NAME).read_bytes()
        before = user_file.read_bytes()
        found = project.evolve(apply=True)
        assert [(one.key, one.before, one.after) for one in found.proposals] == [(WEIGHT, 0.8, 1.0)]
        assert found.proposals[0].confirmed.gain.low > 0
        assert found.replay is not None
        assert 0 < found.replay.first_changed <= found.replay.changed <= found.replay.asked
        assert (found.file, found.applied, user_file.read_bytes()) == ("", (), before), (
            "a weight is a person's own"
        )
        assert verdict(found).endswith("engram evolve --apply --user")
        done = project.evolve(apply=True, user=True)
        assert (done.file, done.applied) == (str(user_file), (WEIGHT,))
        assert open_scope_of(project.store, "user").scope.weight == 1.0
        assert (root / places.CONFIG_NAME).read_bytes() == own
    assert "has been restored" in ok("evolve", "--revert", cwd=root).out
    assert user_file.read_bytes() == before
    with at(root, clock, "project") as alone:
        assert [*others(alone.store)] == [], "a query that asks one scope has no weights"


def test_no_weight_exceeds_its_bounds() -> None:
    assert steps({WEIGHT: 0.7}) == [(WEIGHT, 0.5), (WEIGHT, 0.6), (WEIGHT, 0.8), (WEIGHT, 0.9)]
    assert steps({"scopes.team-ml.weight": 0.1})[0] == ("scopes.team-ml.weight", 0.0)


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        (
            (),
            "Proposed: ranking.words 0.9 → 0.7, scopes.user.weight 0.7 → 0.9. Nothing was changed. Scope weights",
        ),
        (
            ("ranking.words",),
            "ranking.words 0.9 → 0.7: written to F. Proposed: scopes.user.weight 0.7 → 0.9. Scope weights",
        ),
    ],
)
def test_the_verdict_names_written_and_proposed_settings(applied: tuple[str, ...], said: str) -> None:
    proposals = (
        Proposal("ranking.words", 0.9, 0.7, EVIDENCE, EVIDENCE),
        Proposal(WEIGHT, 0.7, 0.9, EVIDENCE, EVIDENCE),
    )
    found = Evolution(40, 40, (), proposals, file="F" if applied else "", applied=applied)
    assert verdict(found).startswith(said)
