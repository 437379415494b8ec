"""Whoever changes a lore, by whatever way, passes the gate of recording: secrets, junk, agents that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SECRET, TIDES, cli, lore_files, opened, plain
from http_kit import asked, serving
from mcp_kit import inside, ok

from engram.domain.errors import SecretFoundError, ValidationError
from engram.usecases.recording.edit import Edit
from engram.usecases.store.clock import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"
SETTINGS = '[store]\nfolder = "lore"\n\n[review]\n'
HELD = SETTINGS + 'agents = "pending"\n'
JUNK = "thanks!"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


def known(root: Path, settings: str) -> None:
    """A store with these settings, and a lore of a person."""
    (root / ".engram.toml").write_text(settings)
    with opened(root, agent="human", clock=Clock()) as person:
        person.put(ID, QUEUE, category="fact", tags=["queue"])


def status(store: Engram) -> str:
    return store.get(ID).lore.status


def test_what_an_agent_says_anew_waits_where_agents_are_held(root: Path) -> None:
    known(root, HELD)
    with opened(root, agent="bot", clock=Clock()) as bot:
        assert bot.patch(ID, {"tags": ["a"], "files": ["x.py"], "pinned": True}).pending == ""
        assert (status(bot), bot.query(QUEUE).lore[0].lore.id) == ("active", ID)
        told = bot.patch(ID, {"content": TIDES})
        assert (told.lore.status, told.pending) == ("pending", "what agents record waits for review here")
        assert bot.query(TIDES).lore == ()
        assert bot.patch(ID, {"status": "active"}).lore.status == "pending", "an agent lets nothing in"
        assert bot.put(ID, QUEUE, category="fact", status="active").pending == told.pending
        assert bot.edit(ID, Edit(status="archived")).pending == ""
    with opened(root, agent="human", clock=Clock()) as person:
        assert person.patch(ID, {"status": "active"}).pending == ""
        assert person.put(ID, TIDES, category="fact").pending == ""
        assert person.put(ID, QUEUE, category="fact", agent="bot").pending == told.pending
        assert person.patch(ID, {"content": TIDES, "status": "active"}).lore.status == "active"


@pytest.mark.parametrize("change", [{"category": "skill"}, {"context": "Here"}, {"content": TIDES}])
def test_each_word_that_a_reader_goes_by_counts(root: Path, change: dict[str, str]) -> None:
    known(root, HELD)
    with opened(root, agent="bot", clock=Clock()) as bot:
        assert bot.patch(ID, change, key="k").pending == bot.patch(ID, change, key="k").pending != ""


def test_a_text_that_becomes_junk_waits_or_is_refused(root: Path) -> None:
    known(root, SETTINGS)
    with opened(root, agent="human", clock=Clock()) as person:
        assert person.patch(ID, {"content": JUNK}).pending == "it is a greeting or a word of agreement"
        assert person.patch(ID, {"status": "active"}).lore.status == "active", "a person has seen it"
        assert person.patch(ID, {"tags": ["b"]}).lore.status == "active"
    known(root, SETTINGS + 'junk = "refuse"\n')
    before = lore_files(root)[0].read_bytes()
    with opened(root, agent="human", clock=Clock()) as person:
        for refused in (person.put, lambda name, text, **_: person.patch(name, {"content": text})):
            with pytest.raises(ValidationError, match="not recorded"):
                refused(ID, JUNK, category="fact")
    assert lore_files(root)[0].read_bytes() == before


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities"])
def test_no_way_of_changing_lets_a_secret_in(root: Path, field: str) -> None:
    known(root, SETTINGS)
    before = lore_files(root)[0].read_bytes()
    with opened(root) as store:
        for key in ("", "k"):
            with pytest.raises(SecretFoundError):
                store.patch(ID, {field: f"key {SECRET}"}, key=key)
            with pytest.raises(SecretFoundError):
                store.put(ID, **{"content": TIDES, field: f"key {SECRET}"}, category="fact", key=key)
    assert lore_files(root)[0].read_bytes() == before


def test_a_summary_that_is_said_again_passes_it_too(root: Path) -> None:
    known(root, SETTINGS)
    with opened(root, agent="bot", clock=Clock()) as bot:
        for secret in ({"participants": [SECRET]}, {"files": [SECRET]}):
            with pytest.raises(SecretFoundError):
                bot.summarize("Looked at queues.", **secret)  # type: ignore[arg-type]
        assert bot.summarize("Looked at queues.").pending == ""
        with pytest.raises(SecretFoundError):
            bot.summarize("Looked at queues.", participants=[SECRET])
    (root / ".engram.toml").write_text(HELD)
    with opened(root, agent="bot", clock=Clock()) as bot:
        told = bot.summarize("Looked at tides.")
        assert (told.new, told.lore.status, told.pending) == (
            False, "pending", "what agents record waits for review here",
        )  # fmt: skip


async def test_http_mcp_and_the_command_line_say_why_it_waits(root: Path) -> None:
    known(root, HELD)
    async with serving(root) as client:
        told = (await asked(client, "PATCH", f"/lore/{ID}", {"content": TIDES})).json()
        assert (told["lore"]["status"], told["pending"]) == (
            "pending",
            "what agents record waits for review here",
        )
        body = {"content": QUEUE, "category": "FACT", "status": "active"}
        assert (await asked(client, "PUT", f"/lore/{ID}", body)).json()["pending"] == told["pending"]
        await asked(client, "PATCH", f"/lore/{ID}", {"content": f"key {SECRET}"}, 422)
        await asked(client, "PUT", f"/lore/{ID}", {"content": f"key {SECRET}", "category": "FACT"}, 422)
    with opened(root, agent="human", clock=Clock()) as person:
        person.patch(ID, {"status": "active"})
    async with inside(root, sets=("curate",)) as mcp:
        told = await ok(mcp, "update_memory", memory_id=ID, content=TIDES)
        assert (told["status"], told["pending"]) == ("pending", "what agents record waits for review here")
    assert cli("edit", ID, "--status", "active", "--content", JUNK, cwd=root).out.splitlines()[1] == (
        "It is pending, and not recalled until you let it in (engram review): it is a greeting or a word of agreement."
    )
