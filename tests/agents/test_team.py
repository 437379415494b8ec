"""Several agents in one memory: their permissions, the MCP tools and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, SetClock, cli, dedicated, git, lore_files, make_plain_store, ok
from mcp_kit import connect_inside, refused, text
from mcp_kit import ok as answered
from team_kit import EVIL, as_agent, changed

from engram.domain.agents.framing import NOTICE
from engram.domain.errors import NotAllowedError, NotFoundError

# --- conversations


def test_equal_handoffs_and_summaries_are_no_duplicates(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        for name in ("bob", "carl", "dora"):
            ada.handoff("The consumer is done and tested. Left: retries with jitter.", to=name)
            ada.summarize("Moved the queue to the new broker.", participants=[name], new=True)
            clock.advance(hours=1)
        assert ada.review().items == ()
        assert ada.consolidate().steps == ()


# --- permissions

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


def test_the_store_settings_limit_what_each_agent_may_do(tmp_path: Path, clock: SetClock) -> None:
    root = make_plain_store(tmp_path / "store", GUARDED)
    with as_agent(root, "ada", clock) as ada:
        decided = ada.record("We use one queue for all.", category="decision").lore.id
        fact = ada.record(TIDES, category="fact").lore.id
    with as_agent(root, "bob", clock) as bob:
        bob.record(QUEUE, category="fact")
        for forbidden_call in (
            lambda: bob.feedback(helpful=fact), lambda: bob.forget(fact), lambda: bob.edit(decided, changed(add_tags=("x",))),
            lambda: bob.record("Two queues, then.", category="decision"),
            lambda: bob.edit(fact, changed(category="decision")),
        ):  # fmt: skip
            with pytest.raises(NotAllowedError) as caught:
                forbidden_call()
            assert caught.value.exit_code == 4
        assert "leaves ARCHITECTURAL_DECISION to ada" in str(caught.value)
    before = [file.read_bytes() for file in lore_files(root)]
    result = cli("record", "A person has no word here.", "-c", "fact", "--json", cwd=root)
    assert (result.code, result.json["error"]["code"]) == (4, "not-allowed")
    assert ok("feedback", "--helpful", fact, cwd=root).code == 0
    with as_agent(root, "eve", clock) as eve:
        for forbidden_call in (
            lambda: eve.observe("Something was seen here."), lambda: eve.register_agent("eve"), lambda: eve.link_entity("Queue"),
            lambda: eve.handoff("Left: retries."), lambda: eve.summarize("Looked."), lambda: eve.patch(fact, {"tags": "x"}),
            lambda: eve.put(fact, QUEUE, category="fact"), lambda: eve.evolve(apply=True),
        ):  # fmt: skip
            with pytest.raises(NotAllowedError, match=r"team.members"):
                forbidden_call()
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


# --- tools and commands


async def test_agents_use_the_tool_set(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=("core", "team")) as client:
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
    assert "New summary" in ok("team", "summary", "Looked", "around.", cwd=root).out
    assert "Updated summary" in ok("team", "summary", "-", cwd=root, stdin=b"Looked around again.").out
    assert (
        "1 observation is waiting" in ok("team", "observe", "The broker seems slow on Mondays.", cwd=root).out
    )
    assert "Looked around again." in ok("search", "--agent", "human", cwd=root).out
    assert "1 pending entries made from observations" in ok("maintain", cwd=root).out
    assert ok("maintain", cwd=root).out == "Nothing is due.\n"
    assert git(root, "status", "--porcelain") == ""
    assert cli("team", "list", "ada", cwd=root).code == 2
