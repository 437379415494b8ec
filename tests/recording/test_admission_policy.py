"""Every way of changing an entry passes the admission policy: secrets, junk, entries by agents that have to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SECRET, TIDES, cli, lore_files, open_test_store
from http_kit import open_client, send_request
from mcp_kit import connect_inside, ok

from engram.domain.errors import SecretFoundError, ValidationError
from engram.usecases.recording.edit import Edit
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"
SETTINGS = '[store]\nfolder = "lore"\n\n[review]\n'
HELD = SETTINGS + 'agents = "pending"\n'
JUNK = "thanks!"


def known(root: Path, settings: str) -> None:
    """A store with these settings, and an entry of a person."""
    (root / ".engram.toml").write_text(settings)
    with open_test_store(root, agent="human", clock=Clock()) as person:
        person.put(ID, QUEUE, category="fact", tags=["queue"])


def status(store: Engram) -> str:
    return store.get(ID).lore.status


def test_new_claims_of_an_agent_wait_if_the_settings_say_so(root: Path) -> None:
    known(root, HELD)
    with open_test_store(root, agent="bot", clock=Clock()) as bot:
        assert bot.patch(ID, {"tags": ["a"], "files": ["x.py"], "pinned": True}).pending == ""
        assert (status(bot), bot.query(QUEUE).lore[0].lore.id) == ("active", ID)
        told = bot.patch(ID, {"content": TIDES})
        assert (told.lore.status, told.pending) == ("pending", "entries by agents wait for review here")
        assert bot.query(TIDES).lore == ()
        assert bot.patch(ID, {"status": "active"}).lore.status == "pending", "an agent lets nothing in"
        assert bot.put(ID, QUEUE, category="fact", status="active").pending == told.pending
        assert bot.edit(ID, Edit(status="archived")).pending == ""
    with open_test_store(root, agent="human", clock=Clock()) as person:
        assert person.patch(ID, {"status": "active"}).pending == ""
        assert person.put(ID, TIDES, category="fact").pending == ""
        assert person.put(ID, QUEUE, category="fact", agent="bot").pending == told.pending
        assert person.patch(ID, {"content": TIDES, "status": "active"}).lore.status == "active"


@pytest.mark.parametrize("change", [{"category": "skill"}, {"context": "Here"}, {"content": TIDES}])
def test_a_change_of_any_field_that_readers_rely_on_waits(root: Path, change: dict[str, str]) -> None:
    known(root, HELD)
    with open_test_store(root, agent="bot", clock=Clock()) as bot:
        assert bot.patch(ID, change, key="k").pending == bot.patch(ID, change, key="k").pending != ""


def test_a_text_that_becomes_junk_waits_or_is_refused(root: Path) -> None:
    known(root, SETTINGS)
    with open_test_store(root, agent="human", clock=Clock()) as person:
        assert person.patch(ID, {"content": JUNK}).pending == "it is a greeting or a word of agreement"
        assert person.patch(ID, {"status": "active"}).lore.status == "active", "a person has seen it"
        assert person.patch(ID, {"tags": ["b"]}).lore.status == "active"
    known(root, SETTINGS + 'junk = "refuse"\n')
    before = lore_files(root)[0].read_bytes()
    with open_test_store(root, agent="human", clock=Clock()) as person:
        for refused in (person.put, lambda name, text, **_: person.patch(name, {"content": text})):
            with pytest.raises(ValidationError, match="Not recorded"):
                refused(ID, JUNK, category="fact")
    assert lore_files(root)[0].read_bytes() == before


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities"])
def test_no_way_of_editing_admits_a_secret(root: Path, field: str) -> None:
    known(root, SETTINGS)
    before = lore_files(root)[0].read_bytes()
    with open_test_store(root) as store:
        for key in ("", "k"):
            with pytest.raises(SecretFoundError):
                store.patch(ID, {field: f"key {SECRET}"}, key=key)
            with pytest.raises(SecretFoundError):
                store.put(ID, **{"content": TIDES, field: f"key {SECRET}"}, category="fact", key=key)
    assert lore_files(root)[0].read_bytes() == before


def test_a_repeated_summary_passes_the_admission_policy_too(root: Path) -> None:
    known(root, SETTINGS)
    with open_test_store(root, agent="bot", clock=Clock()) as bot:
        for secret in ({"participants": [SECRET]}, {"files": [SECRET]}):
            with pytest.raises(SecretFoundError):
                bot.summarize("Looked at queues.", **secret)  # type: ignore[arg-type]
        assert bot.summarize("Looked at queues.").pending == ""
        with pytest.raises(SecretFoundError):
            bot.summarize("Looked at queues.", participants=[SECRET])
    (root / ".engram.toml").write_text(HELD)
    with open_test_store(root, agent="bot", clock=Clock()) as bot:
        told = bot.summarize("Looked at tides.")
        assert (told.new, told.lore.status, told.pending) == (
            False, "pending", "entries by agents wait for review here",
        )  # fmt: skip


async def test_http_mcp_and_the_command_line_say_why_it_waits(root: Path) -> None:
    known(root, HELD)
    async with open_client(root) as client:
        told = (await send_request(client, "PATCH", f"/lore/{ID}", {"content": TIDES})).json()
        assert (told["lore"]["status"], told["pending"]) == (
            "pending",
            "entries by agents wait for review here",
        )
        body = {"content": QUEUE, "category": "FACT", "status": "active"}
        assert (await send_request(client, "PUT", f"/lore/{ID}", body)).json()["pending"] == told["pending"]
        await send_request(client, "PATCH", f"/lore/{ID}", {"content": f"key {SECRET}"}, 422)
        await send_request(
            client, "PUT", f"/lore/{ID}", {"content": f"key {SECRET}", "category": "FACT"}, 422
        )
    with open_test_store(root, agent="human", clock=Clock()) as person:
        person.patch(ID, {"status": "active"})
    async with connect_inside(root, sets=("curate",)) as mcp:
        told = await ok(mcp, "update_memory", memory_id=ID, content=TIDES)
        assert (told["status"], told["pending"]) == ("pending", "entries by agents wait for review here")
    assert cli("edit", ID, "--status", "active", "--content", JUNK, cwd=root).out.splitlines()[1] == (
        "It is pending: not recalled until you accept it (engram review), because it is a greeting or a word of agreement."
    )


NEEDED = "Retries of the message broker need jitter and a bound on their number."
NOT_NEEDED = "Retries of the message broker do not need jitter and a bound on their number."
ELSEWHERE = "01JCCCCCCCCCCCCCCCCCCCCCCC"


def from_elsewhere(root: Path, *, source: str = ELSEWHERE, fields: str = "", text: str = NEEDED) -> Path:
    """An entry that another clone recorded."""
    file = root / "lore" / "elsewhere.md"
    file.parent.mkdir(exist_ok=True)
    source = f"source_id: {source}\n" if source else ""
    head = f"id: {ID}\ncategory: FACT\ncreated_at: 2026-01-02T00:00:00Z\n{source}{fields}"
    file.write_text(f"---\n{head}---\n{text}\n")
    return file


@pytest.mark.parametrize(("confidence", "is_trusted"), [(0.59, False), (0.6, True), (0.8, True)])
def test_a_contradiction_of_a_trusted_entry_is_recorded_and_reported(
    root: Path, confidence: float, is_trusted: bool
) -> None:
    with open_test_store(root, agent="bot") as store:
        first = store.record(NEEDED, category="fact", confidence=confidence).lore
        done = store.record(NOT_NEEDED, category="fact")
        assert (done.status, done.lore.status, done.why) == ("recorded", "active", "")
        expected = [(first.id, first.title, "one negates what the other says")] if is_trusted else []
        assert list(done.contradictions) == expected
        assert store.record(QUEUE, category="fact").contradictions == ()


def test_an_entry_that_another_clone_recorded_is_confirmed_and_not_recorded_again(root: Path) -> None:
    file = from_elsewhere(root)
    before = file.read_bytes()
    with open_test_store(root, agent="bot") as store:
        store.refresh()
        done = store.record(NEEDED, category="decision")
        assert (done.status, done.lore.id, done.path, done.why) == ("known", ID, "lore/elsewhere.md", "")
        assert (done.lore.confidence, done.confirmed) == (0.8, True)
        assert file.read_bytes() == before
        assert store.record(NEEDED, category="fact", tags=["broker"]).confirmed is False
        assert (store.get(ID).lore.tags, store.get(ID).lore.confidence) == (("broker",), 0.8)
        assert store.list().total == 1
    assert lore_files(root) == [file]


@pytest.mark.parametrize("text", [NOT_NEEDED, NEEDED.replace("jitter", "patience")], ids=str)
def test_a_text_that_says_something_else_is_a_new_entry(root: Path, text: str) -> None:
    file = from_elsewhere(root, text=text)
    before = file.read_bytes()
    with open_test_store(root, agent="bot") as store:
        store.refresh()
        assert store.record(NEEDED, category="fact").status == "recorded"
    assert file.read_bytes() == before


def test_a_pending_entry_becomes_active_if_a_person_records_it_but_not_if_an_agent_does(root: Path) -> None:
    (root / ".engram.toml").write_text(HELD)
    with open_test_store(root, agent="bot") as bot:
        first = bot.record(NEEDED, category="fact")
        assert (first.lore.status, first.why) == ("pending", "entries by agents wait for review here")
        again = bot.record(NEEDED, category="fact")
        assert (again.status, again.lore.id, again.lore.status, again.was) == (
            "known",
            first.lore.id,
            "pending",
            "pending",
        )
        assert bot.record(TIDES, category="fact", status="archived").why == ""
    with open_test_store(root, agent="human", clock=Clock()) as person:
        done = person.record(NEEDED, category="fact")
        assert (done.status, done.lore.id, done.lore.status) == ("known", first.lore.id, "active")


def test_junk_waits_only_if_it_was_to_be_active_and_the_settings_check_for_it(root: Path) -> None:
    with open_test_store(root, agent="bot") as store:
        done = store.record(JUNK, category="fact")
        assert (done.lore.status, done.why) == ("pending", "it is a greeting or a word of agreement")
        done = store.record("thank you all!", category="fact", status="archived")
        assert (done.lore.status, done.why) == ("archived", "")
    (root / ".engram.toml").write_text(SETTINGS + 'junk = "active"\n')
    with open_test_store(root, agent="bot") as store:
        assert store.record("hello world", category="fact").lore.status == "active"
    (root / ".engram.toml").write_text(SETTINGS + 'junk = "refuse"\n')
    with open_test_store(root, agent="bot") as store:
        with pytest.raises(ValidationError, match="Not recorded: it is a greeting") as refused:
            store.record("good night", category="fact")
        assert refused.value.field == "content"
        with pytest.raises(ValidationError):
            store.record("good night", category="fact", status="archived")


def test_an_edit_keeps_a_status_other_than_active_whatever_it_changes(root: Path) -> None:
    known(root, SETTINGS)
    with open_test_store(root, agent="human", clock=Clock()) as person:
        assert person.patch(ID, {"content": JUNK, "status": "archived"}).pending == ""
        assert status(person) == "archived"
