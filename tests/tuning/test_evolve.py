"""Evolution: learning from judged queries, within bounds, and leaving noise and a good ranking alone."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import pytest
from apikit import QUEUE, TIDES, cli, dedicated, git, make_plain_store, ok, open_test_store, table_named
from effort import examples
from evolve_kit import lines, record_set
from hypothesis import given
from mcp_kit import connect_inside, refused, text
from mcp_kit import ok as answered

from engram.adapters.files import config_file, places
from engram.domain.entry.confidence import Vote
from engram.domain.errors import ConflictError, NotFoundError, UsageError
from engram.domain.recall import ranking, retrieval_measures
from engram.domain.recall.ranking import KEYS as RANKING
from engram.domain.recall.ranking import Weights, weights_of
from engram.domain.recall.retrieval_measures import Interval, Quality, Question
from engram.domain.settings import Settings, key_named
from engram.domain.tuning import evolution
from engram.domain.tuning.evolution import Evidence, Proposal
from engram.usecases.consolidation.replay import open_replayer
from engram.usecases.index.index_query import query_index
from engram.usecases.store import judgements
from engram.usecases.store.accepted_settings import in_force
from engram.usecases.store.commit import commit_pending
from engram.usecases.tuning import settings_search
from engram.usecases.tuning.apply import apply_proposals
from engram.usecases.tuning.judged_retrievals import judged_retrievals
from engram.usecases.tuning.settings_search import RankingTrial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

ASKED, UNSEEN = 60, 100
SEEDS = 20
BADLY_SET = "\n[ranking]\nwords = 0.9  # words alone, nearly\n"
FINE = Quality(0.5, 0.5, 1.0, 40)
EVIDENCE = Evidence(40, 20, FINE, FINE._replace(ndcg=0.6), Interval(0.1, 0.02, 0.2))
STEP = Proposal(ranking.WORDS_KEY, 0.53, 0.43, EVIDENCE, EVIDENCE)


class Team:
    """A store of real lore, and questions in other words: some judged, the others never asked."""

    def __init__(self, root: Path) -> None:
        self.root = make_plain_store(root)
        found = [one for one in lines("queries.jsonl") if one["kind"] in ("paraphrase", "task")]
        random.Random(2).shuffle(found)
        with open_test_store(root) as engram:
            ids = record_set(engram)
            questions = [
                Question(one["q"], frozenset(ids[key] for key in one["relevant"]), frozenset())
                for one in found
            ]
            for question in questions[:ASKED]:
                self._judge(engram, question)
        self.unseen = questions[ASKED : ASKED + UNSEEN]

    def _judge(self, engram: Engram, question: Question) -> None:
        """Judge as a person would: the helpful entry, and those ranked above it that did not help."""
        shown = [hit.lore.id for hit in engram.query(question.text).lore]
        wrong = [lore_id for lore_id in shown[:2] if lore_id not in question.helpful][:1]
        helped = [lore_id for lore_id in shown if lore_id in question.helpful]
        engram.store.clock.advance(seconds=20)  # type: ignore[attr-defined]
        if helped or wrong:
            engram.feedback(helpful=helped, not_relevant=wrong)

    def quality(self, engram: Engram) -> Quality:
        """Measure the answers to questions that were never asked before."""
        with open_replayer(engram.store) as replayer:
            found = replayer.shown([one.text for one in self.unseen])
        return retrieval_measures.quality(
            self.unseen, {text: [hit.id for hit in hits] for text, hits in found.items()}
        )


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Engram]:
    """A store of two entries, one of which helped once."""
    with open_test_store(make_plain_store(tmp_path / "small")) as engram:
        engram.record(QUEUE, category="pattern")
        engram.record(TIDES, category="fact")
        ask(engram, "queue consumer patterns", helpful="L1")
        yield engram


def ask(engram: Engram, question: str, **judgements: str) -> list[str]:
    """Ask, and judge some seconds later; return the ids shown."""
    shown = [hit.lore.id for hit in engram.query(question).lore]
    engram.store.clock.advance(seconds=20)  # type: ignore[attr-defined]
    if judgements:
        engram.feedback(**judgements)
    return shown


# --- a store that is well tuned, one that is not, and noise


@pytest.mark.slow
def test_a_well_tuned_store_is_left_alone_and_a_bad_weight_is_corrected(tmp_path: Path) -> None:
    team = Team(tmp_path / "team")
    path = team.root / places.CONFIG_NAME
    good = path.read_bytes()
    with open_test_store(team.root) as engram:
        found = engram.evolve(apply=True)
        assert found.judged >= evolution.LEAST_JUDGED
        assert (found.proposals, found.file) == ((), "")
        assert (
            f"No change is a significant improvement on the {found.questions} judged questions" in found.why
        )
        assert path.read_bytes() == good

    path.write_bytes(good + BADLY_SET.encode())
    with open_test_store(team.root) as engram:
        worse = team.quality(engram)
        done = engram.evolve(apply=True)
        better = team.quality(engram)
        assert engram.store.settings.number(ranking.WORDS_KEY) == 0.7
    (proposal,) = done.proposals
    assert (proposal.key, proposal.before, proposal.after) == (ranking.WORDS_KEY, 0.9, 0.7)
    assert proposal.confirmed.gain.low > 0
    assert proposal.confirmed.after.mrr > proposal.confirmed.before.mrr
    assert proposal.found.questions + proposal.confirmed.questions <= done.questions
    assert done.replay is not None
    assert 0 < done.replay.first_changed < done.replay.changed <= done.replay.asked
    assert better.mrr > worse.mrr + 0.02
    assert better.ndcg > worse.ndcg + 0.02
    assert done.file == str(path)
    assert path.read_bytes() == good + BADLY_SET.replace("0.9", "0.7").encode()
    assert "has been restored" in ok("evolve", "--revert", cwd=team.root).out
    assert path.read_bytes() == good + BADLY_SET.encode()


def test_random_judgements_propose_nothing(tmp_path: Path) -> None:
    proposed, seeds = 0, examples(SEEDS, 20 * SEEDS)
    with open_test_store(make_plain_store(tmp_path / "store")) as engram:
        record_set(engram)
        with open_replayer(engram.store) as replayer:
            trial = RankingTrial(engram.store, replayer)
            shown = replayer.shown([one["q"] for one in lines("queries.jsonl")[:36]])
            for seed in range(seeds):
                chance = random.Random(seed)
                questions = []
                for asked, found in shown.items():
                    said = {hit.id: chance.random() for hit in found}
                    helped = frozenset(lore_id for lore_id, one in said.items() if one < 0.3)
                    wrong = frozenset(lore_id for lore_id, one in said.items() if one > 0.6)
                    questions.append(Question(asked, helped, wrong))
                proposed += bool(trial.proposals(questions))
    assert proposed <= 0.05 * seeds


# --- bounds and evidence


@given(st.fixed_dictionaries({key: st.floats(key_named(key).low, key_named(key).high) for key in RANKING}))
def test_no_step_exceeds_its_bounds(present: dict[str, float]) -> None:
    for key, value in evolution.steps(present):
        declared, now = key_named(key), present[key]
        assert declared.low <= value <= declared.high
        if key == ranking.HALF_LIFE_KEY:
            assert 0.5 * now - 0.005 <= value <= 2 * now + 0.005
        elif key == ranking.THRESHOLD_KEY:
            assert abs(value - now) <= 0.105 + 1e-9
        else:
            assert abs(value - now) <= 0.205 + 1e-9


# --- what was judged


def test_a_judgement_belongs_to_the_last_query_of_its_session_with_the_entry(small: Engram) -> None:
    (lore_id, *_) = ask(small, "brokers deliver twice")
    ask(small, "tide tables")
    small.feedback(not_relevant=lore_id)
    with open_test_store(Path(small.path), session="s2", clock=small.store.clock) as other:
        ask(other, "brokers deliver twice")
    found = judged_retrievals(small.store.state, {lore_id})
    assert [(one.entry.query, one.kinds) for one in found] == [
        ("brokers deliver twice", {lore_id: "not_relevant"}),
        ("queue consumer patterns", {lore_id: "helpful"}),
    ]
    tables = small.evolve().effectiveness
    assert table_named(tables, "strategies").rows == (("hybrid", 2, 1, 1, 0, 0.5),)
    assert table_named(tables, "categories").rows == (("PATTERN_OUTCOME", 2, 1, 1, 0, 0.5),)
    assert table_named(tables, "ages").rows == (("first hour", 2, 1, 1, 0, 0.5),)
    assert table_named(tables, "scopes").rows == (("project", 2, 1, 1, 0, 0.5),)


def test_undone_judgements_do_not_count(tmp_path: Path) -> None:
    with open_test_store(dedicated(tmp_path / "store")) as engram:
        engram.record(QUEUE, category="pattern")
        ask(engram, "queue consumer patterns", helpful="L1")
        assert engram.evolve().judged == 1
        engram.undo()
        assert engram.evolve().judged == 0


def test_a_restarted_session_forgets_its_feedback_but_the_activity_log_does_not(small: Engram) -> None:
    small.store.clock.advance(hours=13)  # type: ignore[attr-defined]
    ask(small, "brokers deliver twice", helpful="L1")
    assert small.store.state.run("SELECT count(*) FROM feedback") == [(1,)]
    assert small.evolve().judged == 2


def test_own_judgements_are_removed_before_the_search(small: Engram) -> None:
    before = hits(small)
    ask(small, "brokers deliver twice", incorrect=QUEUE[:20])
    ask(small, "tide tables", helpful=TIDES[:20])
    assert hits(small) != before
    with open_replayer(small.store) as replayer:
        RankingTrial(small.store, replayer)
        asked = replayer.shown(["queue consumer patterns", "tide tables in local time"])
    votes = judgements.own_votes(small.store)
    never = [settings_search._without_own_vote(hit, votes.get(hit.id, Vote())) for hit in hits(small)]
    plain_standings = [(700, 0, None, hit.created_at) for hit in never]
    assert [(hit.confidence, hit.validation_count, hit.last_validated, hit.updated_at) for hit in never] == (
        plain_standings
    )
    assert len({found[0].score.standing for found in asked.values()}) == 1


def hits(engram: Engram) -> list[Any]:
    return query_index(engram.store, lambda generation: generation.catalog.select("1", (), "ORDER BY id"))


# --- applying and taking back


def test_fewer_than_thirty_judged_retrievals_propose_nothing_and_say_so(small: Engram) -> None:
    said = "1 retrieval was judged; proposals need 30."
    root = Path(small.path)
    assert ok("evolve", "--apply", cwd=root).out.splitlines()[-1] == said
    found = ok("evolve", "--json", cwd=root).json
    assert (found["judged"], found["proposals"], found["why"], found["file"]) == (1, [], said, "")
    assert cli("evolve", "--revert", cwd=root).code == 3
    assert cli("evolve", "--revert", "--apply", cwd=root).code == 2


@pytest.mark.parametrize("user", [False, True])
def test_reverting_restores_the_file_each_time(small: Engram, user: bool) -> None:
    path = Path(places.user_config_file() if user else Path(small.path) / places.CONFIG_NAME)
    former = path.read_bytes() if path.exists() else None
    states = [former]
    for value in (0.43, 0.33):
        apply_proposals(small.store, [STEP._replace(after=value)], user=user)
        assert small.store.settings.number(ranking.WORDS_KEY) == value
        states.append(path.read_bytes())
    for state in (states[1], former):
        assert small.evolve(revert=True).reverted
        assert (path.read_bytes() if path.exists() else None) == state
    with pytest.raises(NotFoundError):
        small.evolve(revert=True)


def test_applying_and_reverting_are_commits_where_engram_commits(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    former = (root / places.CONFIG_NAME).read_bytes()
    with open_test_store(root) as engram:
        apply_proposals(engram.store, [STEP], user=False)
        commit_pending(engram.store, wait=10)
    assert git(root, "log", "-1", "--format=%s") == "evolve: ranking.words 0.53 → 0.43"
    assert git(root, "show", "--format=", "--name-only") == places.CONFIG_NAME
    assert "ranking.words = 0.43  (store)" in ok("config", cwd=root).out
    ok("evolve", "--revert", cwd=root)
    assert git(root, "log", "-1", "--format=%s") == "revert: evolve ranking.words"
    assert git(root, "status", "--porcelain") == ""
    assert (root / places.CONFIG_NAME).read_bytes() == former


def test_a_file_that_was_changed_since_is_not_reverted(small: Engram) -> None:
    path = Path(apply_proposals(small.store, [STEP], user=False))
    changed = path.read_bytes() + b"[recall]\nlimit = 3\n"
    path.write_bytes(changed)
    with pytest.raises(ConflictError, match="was changed since") as told:
        small.evolve(revert=True)
    assert told.value.hint.endswith("engram config ranking.words --unset")
    assert path.read_bytes() == changed


def test_a_setting_in_the_user_file_is_changed_there(small: Engram) -> None:
    config_file.change(places.user_config_file(), ranking.WORDS_KEY, 0.8)
    with pytest.raises(UsageError, match="overrides the store's file"):
        apply_proposals(small.store, [STEP], user=False)
    with pytest.raises(UsageError, match="--revert cannot be combined"):
        small.evolve(revert=True, user=True)


async def test_an_agent_evolves_by_the_official_client(small: Engram) -> None:
    apply_proposals(small.store, [STEP], user=False)
    async with connect_inside(Path(small.path), sets=("curate",)) as client:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "evolve_memory_system"]
        assert not tool.annotations.destructive_hint
        found = await answered(client, "evolve_memory_system")
        assert found["verdict"] == "1 retrieval was judged; proposals need 30."
        assert found["tables"][0]["rows"] == [["hybrid", 1, 1, 0, 0, 1.0]]
        assert (await answered(client, "evolve_memory_system", revert=True))["file"]
        assert "No applied proposals" in await refused(client, "evolve_memory_system", revert=True)
        assert "categories · 1 row" in text(await client.call_tool("evolve_memory_system", {}))


# --- the settings


def test_unset_values_equal_the_measured_ones_exactly() -> None:
    assert weights_of(Settings({})) == Weights(ranking.WORDS, ranking.STANDING)
    assert weights_of(Settings({key: key_named(key).default for key in RANKING})) == weights_of(Settings({}))
    shares = [weights_of(Settings({ranking.WORDS_KEY: share / 100})).words for share in range(0, 91, 10)]
    assert all(one < other for one, other in itertools.pairwise(shares))
    near_default = weights_of(Settings({ranking.WORDS_KEY: 0.5300001})).words
    assert near_default == pytest.approx(ranking.WORDS, rel=0.01)


def test_a_half_life_and_a_threshold_change_what_is_shown(small: Engram) -> None:
    small.store.clock.advance(days=5)  # type: ignore[attr-defined]
    settings = small.store.settings
    usual = small.query("queue consumer patterns", keep=False).lore[0].score.standing
    small.store.settings = settings.but({ranking.HALF_LIFE_KEY: 4.0})
    assert small.query("queue consumer patterns", keep=False).lore[0].score.standing > usual
    small.store.settings = settings.but({ranking.THRESHOLD_KEY: 0.4})
    assert small.query("settings of a broker", keep=False).lore == ()


def test_a_pulled_file_with_a_weight_out_of_bounds_keeps_the_previous_weight(tmp_path: Path) -> None:
    root, state = (
        make_plain_store(tmp_path / "store", "[ranking]\nthreshold = -0.05\nwords = 0.7\n"),
        tmp_path / "state",
    )
    state.mkdir()
    assert in_force(str(root), str(state)).settings.number(ranking.THRESHOLD_KEY) == -0.05
    make_plain_store(root, "[ranking]\nwords = 99.0\nthreshold = 0.1\n")
    found = in_force(str(root), str(state))
    assert found.settings.number(ranking.WORDS_KEY) == 0.7
    assert found.settings.number(ranking.THRESHOLD_KEY) == 0.1
    assert "must be from 0 to 0.9" in found.trouble[0]
