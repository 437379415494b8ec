"""Lore travels between two machines without a command: real processes, two homes, one remote, default placement."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from apikit import git
from effort import sampled
from http_kit import post
from mcp_kit import Raw
from storekit import wait_until
from sync_kit import bare
from tui_kit import run_app

import engram
from engram_tui.new_entry.form import NewEntryForm
from tests.sync.machines import LONG, QUIET, SOON, Machine, Machines, arrives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Machines, Machine, Machine]]:
    """Two machines whose people have synced once."""
    made = Machines(tmp_path_factory.mktemp("shared"))
    yield made, made.add("a"), made.add("b")
    made.end()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    yield made
    made.end()


def text_about(word: str) -> str:
    return f"The {word} of staging is restarted every night at four, so jobs that run then fail."


def by_mcp(machine: Machine, word: str) -> None:
    """Record over MCP, and end the server at once."""
    with Raw(cwd=machine.root, **machine.environment) as server:
        found = server.call(1, "recall_record", content=text_about(word), category="FACT")
        assert not found.get("isError"), found
        assert server.end() == 0


def by_mcp_that_stays(machine: Machine, word: str) -> None:
    """Record over MCP, and keep the server until the remote has the entry."""
    with Raw(cwd=machine.root, **machine.environment) as server:
        server.call(1, "recall_record", content=text_about(word), category="FACT")
        wait_until(lambda: not machine.waits, "the server did not send it")
        assert server.end() == 0


def by_command(machine: Machine, word: str) -> None:
    machine.engram("record", text_about(word), "--category", "FACT")


def by_hook(machine: Machine, word: str) -> None:
    """Record in a session that ends long before the entry would be sent."""
    machine.quiet = LONG
    by_command(machine, word)
    machine.hook("session-end")
    wait_until(lambda: not machine.waits, "the end of the session did not send it")


def by_http(machine: Machine, word: str) -> None:
    """Record over HTTP, and stop the server before the entry would be sent."""
    machine.quiet = LONG
    with machine.serving() as (url, key):
        body = {"content": text_about(word), "category": "FACT"}
        assert post(f"{url}/lore", json=body, headers=key).status_code == 201


def by_program(machine: Machine, word: str) -> None:
    """Record in a Python program that closes the store."""
    machine.quiet = LONG
    code = "import engram, sys\nwith engram.open() as store: store.record(sys.argv[1], category='FACT')"
    machine.python(code, text_about(word))


WAYS = {
    "quokkaport": by_mcp,
    "zebrafinch": by_mcp_that_stays,
    "wombatqueue": by_command,
    "ibexcache": by_hook,
    "otterlock": by_http,
    "lynxtoken": by_program,
}


EVERY_DAY = (by_mcp,)


@pytest.mark.parametrize(
    ("word", "record"),
    [
        pytest.param(word, way, id=way.__name__, marks=() if way in EVERY_DAY else pytest.mark.slow)
        for word, way in WAYS.items()
    ],
)
def test_an_entry_recorded_in_any_way_reaches_the_next_session_elsewhere(
    shared: tuple[Machines, Machine, Machine], word: str, record: Callable[[Machine, str], None]
) -> None:
    _, a, b = shared
    record(a, word)
    wait_until(lambda: not a.waits, "it was not sent")
    a.kill_all()
    b.hook("session-start", source="startup", session_id=f"session-of-{word}")
    assert arrives(b, word) <= SOON
    assert word in b.hook("prompt", prompt=f"When is the {word} of staging restarted, and why do jobs fail?")


@pytest.mark.slow
def test_entries_recorded_offline_are_sent_at_the_next_session(
    shared: tuple[Machines, Machine, Machine],
) -> None:
    machines, a, b = shared
    with machines.offline():
        by_mcp(a, "molehill")
        a.rest()
        found = a.status()["sync"]
        assert found["failures"] > 0
        assert found["error"]["code"] == "remote"
        assert a.waits
        assert "failed: No repository was found" in a.engram("doctor").out
        with Raw(cwd=a.root, **a.environment) as server:
            (said,) = server.call(1, "recall_status")["content"]
            assert server.end() == 0
        assert "by itself; failed" in said["text"]
        assert said["text"].endswith("is not sent yet")
        a.rest()
    a.hook("session-start", source="startup", session_id="after-the-flight")
    wait_until(lambda: not a.waits, "it was not sent")
    b.hook("session-start", source="startup", session_id="later")
    arrives(b, "molehill")
    assert a.status()["sync"]["error"] is None


@pytest.mark.slow
async def test_an_entry_recorded_in_the_app_is_sent_when_the_app_closes(
    shared: tuple[Machines, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, a, b = shared
    a.quiet = LONG
    for name, value in a.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(a.root)
    store = engram.open()
    async with run_app(store) as user:
        await user.press("N")
        await user.sees(lambda: isinstance(user.app.screen, NewEntryForm) and user.app.focused)
        user.types(text_about("cranetable"))
        await user.press("ctrl+s")
        await user.told("Record", "is recorded")
        await user.sees_text("not all sent")
        assert a.waits
    store.leave()
    wait_until(lambda: not a.waits, "it was not sent")
    b.hook("session-start", source="startup", session_id="after-the-app")
    arrives(b, "cranetable")


@pytest.mark.slow
def test_a_dedicated_store_that_a_person_cloned_syncs_by_itself_at_once(machines: Machines) -> None:
    a, b = machines.add_empty("a"), machines.add_empty("b")
    hub = bare(machines.folder / "lore.git")
    a.root.mkdir()
    a.engram("init", "--placement", "dedicated")
    a.engram("remote", "add", "origin", str(hub))
    by_command(a, "quokkaport")
    a.rest()
    assert git(hub, "for-each-ref") == ""
    a.engram("sync")
    b.root.mkdir()
    b.engram("clone", str(hub), str(b.root))
    by_command(b, "wombatqueue")
    wait_until(lambda: not b.waits, "it was not sent")
    a.hook("session-start", source="startup")
    arrives(a, "wombatqueue")


@pytest.mark.slow
def test_a_clone_made_by_an_agent_never_syncs_automatically(machines: Machines) -> None:
    a, b = machines.add_empty("a"), machines.add_empty("b")
    hub = bare(machines.folder / "lore.git")
    for machine in (a, b):
        machine.root.mkdir()
    a.engram("init", "--placement", "dedicated")
    a.engram("remote", "add", "origin", str(hub))
    a.engram("sync")
    before = git(hub, "for-each-ref")
    b.agent = "claude-code"
    b.engram("clone", str(hub), str(b.root))
    by_command(b, "wombatqueue")
    b.engram("sync", "--pull")
    b.hook("session-end")
    b.rest()
    assert git(hub, "for-each-ref") == before
    b.engram("sync")  # it was asked for, so it sends, but does not go on by itself
    before = git(hub, "for-each-ref")
    by_command(b, "ibexcache")
    b.rest()
    assert git(hub, "for-each-ref") == before


@pytest.mark.slow
def test_in_tree_judgements_travel_and_only_where_publishing_is_allowed(machines: Machines) -> None:
    a = machines.add("a", "--placement", "in-tree")
    by_command(a, "quokkaport")
    a.rest()
    git(a.root, "add", ".")
    git(a.root, "commit", "-q", "-m", "lore")
    git(a.root, "push", "-q")
    before = machines.refs
    a.engram("query", "When is the quokkaport of staging restarted?")
    a.engram("feedback", "--helpful", "L1")
    a.rest()
    assert machines.refs == before
    b = machines.add("b", "--placement", "in-tree")
    assert b.engram("status", "--json").json["judgements"]["lines"] == 0
    a.engram("config", "judgements.publish", "true", "--user")
    a.engram("feedback", "--incorrect", "L1")
    wait_until(lambda: not a.waits, "it was not sent")
    b.hook("session-start", source="startup")
    wait_until(lambda: b.engram("status", "--json").json["judgements"]["lines"], "no judgement came")
    assert "judgements last exchanged with origin" in b.engram("status").out


@sampled("record", [by_command, by_mcp, by_program])
def test_a_store_that_nobody_synced_pushes_nothing(
    machines: Machines, record: Callable[[Machine, str], None]
) -> None:
    a = machines.add("a", consent=False)
    before = machines.refs
    record(a, "quokkaport")
    a.quiet = "0"
    a.engram("query", "When is the quokkaport of staging restarted?")
    a.engram("feedback", "--helpful", "L1")
    a.engram("config", "sync.auto", "true", "--user")
    for event in ("session-start", "session-end"):
        a.hook(event)
    a.engram("sync", "--pull")
    a.rest()
    assert machines.refs == before
    assert a.status()["sync"]["at"] is not None, "the pull by hand"
    assert git(machines.hub, "for-each-ref", "refs/heads/engram") == ""


@pytest.mark.slow
def test_a_clone_of_somebodys_lore_is_not_asked_whether_it_pushes(machines: Machines) -> None:
    machines.add("a")
    b = machines.add("b", consent=False)
    before = machines.refs
    by_mcp(b, "quokkaport")
    b.hook("session-start", source="startup")
    b.rest()
    assert machines.refs == before


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))  # one test of all rounds would take longer than a test may
def test_nothing_is_lost_in_two_of_twenty_rounds_with_random_kills(
    shared: tuple[Machines, Machine, Machine], seed: int
) -> None:
    machines, *pair = shared
    for machine in pair:
        machine.quiet = QUIET
    chance = random.Random(seed)
    words = [f"{animal}{seed}" for animal in ("mole", "crane")]
    for number, word in enumerate(words):
        giver, taker = pair[number % 2], pair[1 - number % 2]
        (by_mcp if number % 3 else by_command)(giver, word)
        giver.kill_in(chance.uniform(0, 0.8))
        if seed % 4 == number:
            with machines.offline():
                giver.hook("session-start", source="startup", session_id=f"offline-{word}")
                giver.rest()
        giver.hook("session-end", session_id=f"end-{word}")
        if chance.random() < 0.5:
            giver.kill_in(chance.uniform(0, 0.8))
        taker.hook("session-start", source="startup", session_id=f"start-{word}")
        taker.kill_in(chance.uniform(0, 0.8))
    for turn, machine in enumerate((*pair, *pair)):
        machine.hook("session-start", source="startup", session_id=f"last-{seed}-{turn}")
        machine.rest()
    for machine in pair:
        assert [word for word in words if not machine.knows(word)] == []
    heads = {git(machine.root, "rev-parse", "engram/lore") for machine in pair}
    assert heads == {git(machines.hub, "rev-parse", "engram/lore")}
