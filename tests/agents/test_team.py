"""Several agents in one memory: profiles, handoffs, conversations, what guards them, and all of it as agents and people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apikit import QUEUE, SECRET, TIDES, SetClock, cli, dedicated, git, lore_files, ok, plain
from mcp_kit import inside, refused, text
from mcp_kit import ok as answered
from scopes_kit import record
from team_kit import EVIL, as_agent, changed

from engram.domain.agents.framing import NOTICE
from engram.domain.entry import times
from engram.domain.errors import NotAllowedError, NotFoundError, SecretFoundError, UsageError
from engram.domain.graph.team import goes_on


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


# --- who they are


def test_registering_again_changes_what_differs_and_keeps_what_a_person_wrote(
    tmp_path: Path, clock: SetClock
) -> None:
    root = dedicated(tmp_path / "store")
    with as_agent(root, "ada", clock) as ada:
        ada.register_agent("ada", name="Ada", capabilities=["review"], settings={"tone": "short"})
        file = root / "lore/agents/ada.md"
        written = file.read_text()
        assert written == (
            "---\nname: Ada\ncapabilities: [review]\nsettings: {tone: short}\nupdated_at: "
            f"{times.render(clock.moment)}\n---\n"
        )
        file.write_text(
            "---\n# ours\nname: Ada\nteam: billing # old\ncapabilities: [review]\n---\n\nReads all.\n"
        )
        done = ada.register_agent("ada", capabilities=["review", "go"], settings={"tone": "long: yes"})
        assert (done.name, done.capabilities, done.text) == ("Ada", ("review", "go"), "Reads all.")
        assert file.read_text() == (
            "---\n# ours\nname: Ada\nteam: billing # old\ncapabilities: [review, go]\n"
            f'settings: {{tone: "long: yes"}}\nupdated_at: {times.render(clock.moment)}\n---\n\nReads all.\n'
        )
        before = file.stat().st_mtime_ns
        assert ada.register_agent("ada") == done
        assert file.stat().st_mtime_ns == before
        assert ada.list().total == 0, "an agent is no lore"
    ok("status", cwd=root)
    assert git(root, "log", "--format=%s").splitlines()[:2] == ["change agent: ada", "register agent: ada"]


@pytest.mark.parametrize(
    ("given", "error"),
    [({"id": "../up"}, UsageError), ({"id": "Ada"}, UsageError), ({"id": "a" * 61}, UsageError),
     ({"id": "ada", "name": SECRET}, SecretFoundError), ({"id": "ada", "capabilities": ["x" * 201]}, UsageError),
     ({"id": "ada", "settings": {"a b": "c"}}, UsageError), ({"id": "ada", "default_scope": "nowhere"}, UsageError)],
)  # fmt: skip
def test_what_is_no_agent_is_refused(
    root: Path, clock: SetClock, given: dict[str, object], error: type
) -> None:
    with as_agent(root, "ada", clock) as ada:
        with pytest.raises(error):
            ada.register_agent(**given)  # type: ignore[arg-type]
        assert not (root / "lore/agents").exists()


def test_an_unregistered_agent_is_seen_and_a_broken_file_is_in_nobodys_way(
    root: Path, clock: SetClock
) -> None:
    with as_agent(root, "bob", clock) as bob:
        bob.record(QUEUE, category="fact")
        (root / "lore/agents").mkdir()
        (root / "lore/agents/eve.md").write_bytes(b"\xff\xfe")
        (found,) = bob.team()
        assert (found.profile.id, found.registered) == ("bob", False)
        assert found.seen_at == clock.moment.timestamp()
    told = cli("doctor", "--json", cwd=root).json["findings"]
    assert "eve.md" in str([one for one in told if one["kind"] == "agent"])


# --- handing over


def test_a_handoff_is_told_once_to_whom_it_is_for(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.handoff("The consumer is done, retries are left.", to="bob", topic="queue", files=["src/q.py"])
        clock.advance(seconds=1)
        ada.handoff("The palette waits for a word of design.")
        with pytest.raises(UsageError, match="itself"):
            ada.handoff("x", to="ada")
        assert ada.get_context("queue").handoffs == ()  # neither is for her
    with as_agent(root, "bob", clock) as bob:
        kept = bob.get_context("something else", take=False)
        assert [one.content.split("\n")[0] for one in kept.handoffs] == [
            "Handoff from ada to bob: queue",
            "Handoff from ada to anybody",
        ]
        found = bob.get_context("something else")
        assert found.handoffs == kept.handoffs
        assert len(found.taken) == 2
        assert found.text.startswith(f"{NOTICE}\n\nHanded over to you:\n\nL1 · note · ada · today\n")
        assert bob.get_context("something else").handoffs == ()
        assert bob.handoffs() == []
        assert "taken-over" in bob.get(found.taken[0]).lore.tags
    with as_agent(root, "eve", clock) as eve:
        assert eve.get_context("queue").handoffs == ()


def test_a_session_begins_with_what_was_handed_over(root: Path, clock: SetClock) -> None:
    from engram.hooks import events
    from engram.hooks.payload import Payload

    with as_agent(root, "ada", clock) as ada:
        ada.handoff(f"Take care. {EVIL}", to="claude-code")
    start = Payload(cwd=str(root), source="startup")
    with as_agent(root, "claude-code", clock) as other:
        said = events.session_start(other.store, start, "claude-code").text
        assert "Handed over to you:" in said
        assert "\n[L1] note · ada · today\n" in said
        assert "<system>" not in said
        assert said.count("Take care.") == 1, "not in the brief, too"
        assert "Take care." not in events.session_start(other.store, start, "claude-code").text


def test_an_agent_is_told_what_waits_in_its_own_scope_too(root: Path, clock: SetClock) -> None:
    record("So that there is a store of one's own.", root, "--scope", "user")
    with as_agent(root, "carl", clock) as carl:
        carl.register_agent("carl", default_scope="user")
        assert carl.handoff("From home.", to="bob").path
        assert carl.handoffs() == []
        assert carl.observe("Something seems slow here on Mondays.").waiting == 1
    with as_agent(root, "ada", clock) as ada:
        clock.advance(seconds=1)
        ada.handoff("From work.", to="bob")
    with as_agent(root, "bob", clock) as bob:
        assert len(bob.get_context("x", take=False).handoffs) == 1
        bob.register_agent("bob", default_scope="user")
        found = bob.get_context("x", scope="user", take=False)
        assert [one.content.split("\n")[-1] for one in found.handoffs] == ["From home."]
        found = bob.get_context("x")
        assert [one.content.split("\n")[-1] for one in found.handoffs] == ["From home.", "From work."]
        assert [bob.get(one.ref).scope for one in found.handoffs] == ["user", "project"]
        assert bob.get_context("x").handoffs == ()


# --- conversations


def test_a_pause_or_a_mark_begins_a_new_conversation(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        first = ada.summarize("Talked about the queue.", participants=["bob"])
        clock.advance(minutes=29)
        ada.query("queue")  # the session goes on
        clock.advance(minutes=29)
        again = ada.summarize("Talked about the queue and its retries.", participants=["eve"], files=["a.py"])
        assert (first.new, again.new, again.lore.id) == (True, False, first.lore.id)
        assert again.keys == ("session of ada", "", ("ada", "bob", "eve"))
        clock.advance(minutes=31)
        second = ada.summarize("Then about tides.")
        third = ada.summarize("And now palettes.", new=True)
        assert [second.keys.parent, third.keys.parent] == [first.lore.id, second.lore.id]
        assert [one.lore.content for one in ada.conversations()] == [
            "And now palettes.", "Then about tides.", "Talked about the queue and its retries."
        ]  # fmt: skip
        assert len(lore_files(root)) == 3
        assert b"participants: [ada, bob, eve]\n---\n" in (root / first.path).read_bytes()
        assert ada.edit(first.lore.id, changed(add_tags=("x",))).lore.tags == ("x",)
        assert b"session: session of ada\n" in (root / first.path).read_bytes()
        with pytest.raises(SecretFoundError):
            ada.summarize(f"The token is {SECRET}")
    with as_agent(root, "ada", clock, "another") as other:
        assert other.summarize("Another session.").keys.parent == ""


def test_a_conversation_goes_on_from_word_to_word() -> None:
    assert goes_on([], 0, 1800)
    assert not goes_on([], 0, 1801)
    assert goes_on([1700, 3400, 9999, -5], 0, 5000)
    assert not goes_on([100, 2000], 0, 2001)


def test_handoffs_and_summaries_are_no_doubles_of_one_another(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        for name in ("bob", "carl", "dora"):
            ada.handoff("The consumer is done and tested. Left: retries with jitter.", to=name)
            ada.summarize("Moved the queue to the new broker.", participants=[name], new=True)
            clock.advance(hours=1)
        assert ada.review().items == ()
        assert ada.consolidate().steps == ()


# --- guard rails

GUARDED = """
[store]
folder = "lore"
[team.members]
ada = ["record", "judge", "forget"]
bob = ["record"]
"*" = ["judge"]
[team.policies]
decision = ["ada"]
"""


def test_the_store_says_who_may_do_what(tmp_path: Path, clock: SetClock) -> None:
    root = plain(tmp_path / "store", GUARDED)
    with as_agent(root, "ada", clock) as ada:
        decided = ada.record("We use one queue for all.", category="decision").lore.id
        fact = ada.record(TIDES, category="fact").lore.id
    with as_agent(root, "bob", clock) as bob:
        bob.record(QUEUE, category="fact")
        for forbidden in (
            lambda: bob.feedback(helpful=fact), lambda: bob.forget(fact), lambda: bob.edit(decided, changed(add_tags=("x",))),
            lambda: bob.record("Two queues, then.", category="decision"),
            lambda: bob.edit(fact, changed(category="decision")),
        ):  # fmt: skip
            with pytest.raises(NotAllowedError) as caught:
                forbidden()
            assert caught.value.exit_code == 4
        assert "leaves ARCHITECTURAL_DECISION to ada" in str(caught.value)
    before = [file.read_bytes() for file in lore_files(root)]
    result = cli("record", "A person has no word here.", "-c", "fact", "--json", cwd=root)
    assert (result.code, result.json["error"]["code"]) == (4, "not-allowed")
    assert ok("feedback", "--helpful", fact, cwd=root).code == 0
    with as_agent(root, "eve", clock) as eve:
        for no_word in (
            lambda: eve.observe("Something was seen here."), lambda: eve.register_agent("eve"), lambda: eve.link_entity("Queue"),
            lambda: eve.handoff("Left: retries."), lambda: eve.summarize("Looked."), lambda: eve.patch(fact, {"tags": "x"}),
            lambda: eve.put(fact, QUEUE, category="fact"), lambda: eve.evolve(apply=True),
        ):  # fmt: skip
            with pytest.raises(NotAllowedError, match=r"team.members"):
                no_word()
        assert not (root / "lore/agents").exists()
        assert eve.query("tides").lore[0].lore.id == fact
    assert len(before) == len(lore_files(root))
    for wrong in (
        '[team.members]\nada = "record"\n',
        '[team.members]\nada = ["fly"]\n',
        "[team.policies]\nFACT = [1]\n",
    ):
        (tmp_path / "store/.engram.toml").write_text(wrong)
        assert "team." in cli("config", cwd=root).err


def test_what_was_handed_over_and_does_not_fit_waits_for_the_next_session(
    root: Path, clock: SetClock
) -> None:
    from engram.usecases.agents.handoffs import for_session_start

    with as_agent(root, "ada", clock) as ada:
        for number in range(3):
            ada.handoff(f"Part {number}. " + "It is half done. " * 40, to="bob")
    with as_agent(root, "bob", clock) as bob:
        first = for_session_start(bob.store, "bob", 450)
        assert [f"Part {number}." in first for number in range(3)] == [True, True, False]
        assert len(bob.handoffs()) == 1
        assert "Part 2." in for_session_start(bob.store, "bob", 450)
        assert for_session_start(bob.store, "bob", 450) == ""


# --- as agents and people use it


async def test_agents_use_the_set(tmp_path: Path) -> None:
    root = plain(tmp_path / "store")
    async with inside(root, sets=("core", "team")) as client:
        await answered(client, "recall_record", content=QUEUE, category="fact")
        mine = await answered(
            client, "register_agent", id="ada", capabilities="review", settings={"tone": "short"}
        )
        assert mine == {"id": "ada", "name": "ada", "capabilities": ["review"], "settings": {"tone": "short"}}
        given = await answered(client, "handoff", summary=f"Left: retries. {EVIL}", to="bob", agent="ada")
        said = await answered(client, "get_context", topic="queue consumers", agent="bob", max_tokens=500)
        assert [one["part"] for one in said["found"]] == ["handoff", "lore"]
        assert said["found"][0]["text"].startswith("Handoff from ada to bob\n")
        (handed,) = (await answered(client, "recall_get", refs=[said["found"][0]["ref"]]))["lore"]
        assert handed["id"] == given["id"]
        assert said["found"][1]["text"] == QUEUE
        assert "<system>" not in json.dumps(said)
        again = await answered(client, "get_context", topic="queue", agent="bob")
        assert [one["part"] for one in again["found"]] == ["lore"]
        first = await answered(client, "summarize_session", summary="Looked at queues.", participants=["bob"])
        again = await answered(client, "summarize_session", summary="Looked at queues and retries.")
        assert first == {"id": again["id"], "new": True}
        assert (await answered(client, "observe", text="The broker seems slow on Mondays."))["waiting"] == 1
        due = await answered(client, "maintain", dry_run=True)
        assert [one for one in due["steps"] if one["number"]] == [{"step": "observations", "number": 1}]
        assert next(one["number"] for one in (await answered(client, "maintain"))["steps"]) == 1
        assert text(await client.call_tool("maintain", {})) == "Done: nothing was due."
        found = await answered(client, "search", text="queue", categories="fact")
        assert [one["text"] for one in found["lore"]] == [QUEUE]
        assert (await client.call_tool("search", {"agents": ["nobody"]})).structured_content[
            "notice"
        ] == "No entry matches."
        assert "is not a date" in await refused(client, "search", since="soon")
        assert "lower-case" in await refused(client, "register_agent", id="A b")
        assert text(await client.call_tool("get_context", {"topic": "queue"})).startswith(NOTICE)


def test_people_use_the_commands(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    said = ok(
        "team", "register", "ada", "--name", "Ada", "--capability", "review", "--set", "tone=short", cwd=root
    )
    assert said.out.split() == ["ada", "Ada", "·", "review"]
    assert "tone = short" in ok("team", "show", "ada", cwd=root).out
    assert cli("team", "show", "eve", cwd=root).code == NotFoundError.exit_code
    ok("team", "handoff", "Retries are left.", "--to", "bob", "--agent", "ada", cwd=root)
    assert ok("team", "handoffs", "--json", cwd=root).json["handoffs"][0]["to"] == "bob"
    assert (
        "Retries are left."
        in ok("team", "context", "queue", "--agent", "bob", cwd=root, ENGRAM_AGENT="bob").out
    )
    assert "There are no handoffs." in ok("team", "handoffs", cwd=root).out
    assert "Began" in ok("team", "summary", "Looked", "around.", cwd=root).out
    assert "Went on" in ok("team", "summary", "-", cwd=root, stdin=b"Looked around again.").out
    assert "1 observation waits" in ok("team", "observe", "The broker seems slow on Mondays.", cwd=root).out
    assert "Looked around again." in ok("search", "--agent", "human", cwd=root).out
    assert "1 pending entries made from observations" in ok("maintain", cwd=root).out
    assert git(root, "status", "--porcelain") == ""
    assert cli("team", "list", "ada", cwd=root).code == 2
