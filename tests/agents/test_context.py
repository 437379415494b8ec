"""What an agent is told for a topic, what it observed and what becomes of that, and search by structure."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from apikit import QUEUE, SECRET, SetClock, lore_files, plain
from hypothesis import given, settings
from team_kit import EVIL, as_agent

from engram.adapters.files.durable.job_queue import JobQueue
from engram.domain.agents.framing import Framed, Section, as_text, pack
from engram.domain.errors import UsageError, ValidationError
from engram.domain.recall.budget import tokens
from engram.usecases.agents import observations
from engram.usecases.store.store import Caller

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


# --- context


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 3)), max_size=12),
    st.integers(200, 3000),
)
def test_a_context_never_costs_more_than_it_may(lengths: list[tuple[int, int]], budget: int) -> None:
    sections: list[list[Framed]] = [[], [], [], []]
    for number, (length, place) in enumerate(lengths):
        said = ("One word and another. " * length)[:length]
        sections[place].append(Framed(f"L{number}", "I" * 26, said, "FACT", 0.7, "trusted", "agent", "ada"))
    packed = pack([Section(f"Part {n}:", tuple(items), 0.5) for n, items in enumerate(sections)], budget)
    assert tokens(packed.text) <= budget
    shown = [one for section in packed.sections for one in section.items]
    assert packed.left_out == len(lengths) - len(shown)
    assert all(as_text(one) in packed.text for one in shown)
    given_texts = {one.ref: one.content for section in sections for one in section}
    assert all((one.content == given_texts[one.ref]) == (one.left_out == 0) for one in shown)


def test_a_context_has_all_there_is_for_a_topic_and_each_thing_once(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.record(QUEUE, category="pattern", entities=["broker"])
        ada.record(f"Queue consumers again: {EVIL}", category="fact", status="pending")
        ada.summarize("Queue consumers were moved to the new broker.")
    (root / "lore/entities").mkdir()
    (root / "lore/entities/rabbit.md").write_text(
        f"---\nname: Rabbit\ntype: tool\naliases: [broker]\nrelationships: [{{kind: uses, to: disk}}]\n---\n\n{EVIL}\n"
    )
    (root / "lore/entities/bad.md").write_bytes(b"\xff")
    with as_agent(root, "bob", clock) as bob:
        bob.summarize("Began to look at queue consumers.")
        found = bob.get_context("queue consumers", 600)
        assert [one.content for one in found.lore] == [QUEUE]
        assert [one.content for one in found.summary] == ["Began to look at queue consumers."]
        assert [one.content for one in found.sessions] == ["Queue consumers were moved to the new broker."]
        (rabbit,) = found.entities
        assert rabbit.content.startswith("Rabbit (tool)\nuses disk\nRead [unchecked link] https")
        assert tokens(found.text) == found.tokens <= 600
        assert "<system>" not in found.text
        assert {
            one.ref for one in (*found.lore, *found.summary, *found.sessions)
        } <= bob.session_refs().keys()
        for wrong in (199, 20_001):
            with pytest.raises(UsageError):
                bob.get_context("queue", wrong)


def test_without_an_index_a_context_still_has_what_answers(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.record(QUEUE, category="pattern")
        ada.handoff("Retries are left.", to="bob")
        state = Path(ada.store.places.state)
    shutil.rmtree(state / "index", ignore_errors=True)
    (state / "index").write_text("in the way")
    (state / "index.damaged" / "too").mkdir(parents=True)
    with as_agent(root, "bob", clock) as bob:
        found = bob.get_context("queue consumer patterns")
        assert QUEUE in [one.content for one in found.lore]
        assert found.handoffs == ()
        assert "index" in found.notes[0]


# --- observations


def test_an_observation_outlives_the_process_and_becomes_pending_lore(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        done = ada.observe(f"Root cause: the retry loop never sleeps. Token {SECRET}", files=["src/q.py"])
        assert (done.waiting, done.redacted) == (1, 1)
        ada.observe("The palette of the settings page seems to have been chosen by nobody at all.")
        ada.observe("ok")
        assert lore_files(root) == []
    with as_agent(root, "bob", clock) as bob:
        assert bob.maintain(dry_run=True).steps[0].number == 3
        assert bob.maintain().steps[0].number == 2
        assert bob.maintain().steps[0].number == 0
        found = bob.list(status="pending").lore
        assert {one.lore.agent for one in found} == {"ada"}
        cause = next(one.lore for one in found if "retry loop" in one.lore.content)
        assert SECRET not in cause.content
        assert cause.files == ("src/q.py",)
        assert {one.lore.category for one in found} >= {"OBSERVATION"}
        assert bob.store.caller == Caller("session of bob", "bob")


def test_queued_jobs_survive_kills_and_nobody_gets_one_twice(tmp_path: Path) -> None:
    kept = JobQueue(str(tmp_path / "kept"))
    for name in "abc":
        kept.put(name, {"text": f"{name} ä\n"})
    waiting = tmp_path / "kept/waiting.jsonl"
    waiting.write_bytes(waiting.read_bytes() + b'{"name": "half')  # a writer was killed
    kept.put("d", {"text": "after"})
    assert [kept.count(back) for back in (0, 1, 3, 6)] == [(5, ""), (5, "d"), (5, "c"), (5, "")]

    def killed_at_b(job: dict[str, object]) -> int:
        if job["text"] == "b ä\n":
            kept.put("e", {"text": "meanwhile"})
            os._exit(9)
        return 1

    worker = os.fork()
    if not worker:
        kept.work_off(killed_at_b)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 9
    seen: list[object] = []

    def noted(job: dict[str, object]) -> int:
        seen.append(job["text"])
        return 1

    assert kept.work_off(noted, lambda: len(seen) < 2) == 2
    assert seen == ["a ä\n", "b ä\n"], "the killed worker had removed nothing yet"
    last = JobQueue(kept.folder)
    assert last.work_off(noted) == 3
    assert seen[2:] == ["c ä\n", "after", "meanwhile"]
    assert last.is_empty()
    assert sorted(os.listdir(kept.folder)) == ["lock", "write.lock"]


def test_observations_have_limits(root: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_agent(root, "ada", clock) as ada:
        for wrong in ("", "  \n", "x" * 8001):
            with pytest.raises(ValidationError):
                ada.observe(wrong)
        monkeypatch.setattr(observations, "MOST_A_MINUTE", 5)
        monkeypatch.setattr(observations, "MOST_WAITING", 7)
        for number in range(5):
            ada.observe(f"Number {number} was seen.")
        with pytest.raises(UsageError, match="within a minute"):
            ada.observe("One more.")
        clock.advance(minutes=2)
        assert [ada.observe("Later.").waiting for _ in range(2)] == [6, 7]
        with pytest.raises(UsageError, match="wait already"):
            ada.observe("Full.")
        monkeypatch.setattr(observations, "MOST_A_DAY", 1)
        ada.maintain()
        assert observations.waiting(ada.store) > 0, "the rest waits for tomorrow"


# --- search


def test_search_agrees_with_a_look_at_every_lore(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        for number in range(24):
            ada.record(
                f"Queue note {number}: consumers number {number} are idempotent.",
                category=("fact", "pattern")[number % 2],
                tags=["even"] if number % 3 == 0 else [],
                agent=("ada", "bob")[number // 12],
            )
            clock.advance(hours=6)
        ada.record("Queue of pending consumers.", category="fact", status="pending")
        every = [one.lore for one in ada.list(limit=None, status="active").lore]
        for asked in (
            {"agents": ["bob"]}, {"since": "2026-03-06"}, {"until": "2026-03-06"}, {"tags": ["even"]},
            {"categories": ["pattern"], "agents": "ada", "since": "2026-03-05T00:00:00Z", "until": "2026-03-06"},
        ):  # fmt: skip
            wanted = {lore.id for lore in every if _fits(lore, asked)}
            for words in ("", "queue consumers"):
                found = ada.search(words, limit=100, **asked)  # type: ignore[arg-type]
                assert {one.lore.id for one in found.lore} == wanted, (asked, words)
        newest = ada.search(limit=3).lore
        assert [one.lore.title.split(":")[0] for one in newest] == [f"Queue note {n}" for n in (23, 22, 21)]
        assert [one.ref for one in newest] == [
            next(r for r, i in ada.session_refs().items() if i == one.lore.id) for one in newest
        ]
        for wrong in ({"since": "yesterday"}, {"limit": 0}, {"scope": "nowhere"}):
            with pytest.raises(UsageError):
                ada.search(**wrong)  # type: ignore[arg-type]


def _fits(lore: Lore, asked: dict[str, object]) -> bool:
    made = f"{lore.created_at:%Y-%m-%dT%H:%M:%SZ}"
    until = str(asked.get("until", "9999"))
    return (
        lore.agent in asked.get("agents", lore.agent)  # type: ignore[operator]
        and made >= str(asked.get("since", ""))
        and (made[:10] if len(until) == 10 else made) <= until
        and set(asked.get("tags", ())) <= set(lore.tags)  # type: ignore[call-overload]
        and (lore.category == "PATTERN_OUTCOME" or not asked.get("categories"))
    )
