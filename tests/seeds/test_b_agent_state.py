"""Design B, "SQLite for agent state": its success criteria, quality rules, commands, and its five example sentences.

What deviates on purpose names its row of docs/designs.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from apikit import cli, deviates, everything_on_disk, git, open_test_store, run_process
from apikit import ok as succeed
from http_kit import run_server
from mcp_kit import connect_apart, connect_inside, ok, refused, text
from remote_kit import listening

from engram.adapters.agents import hosts
from engram.domain.errors import SecretFoundError
from engram.usecases.agents import connect

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("compat:engram-js",)
# An example sentence for each category.
SENTENCES = {
    "Alex prefers Fastify over Express for new services.": "PREFERENCE",
    "This project uses PostgreSQL 15 for all of its state.": "FACT",
    "We deploy via GitHub Actions from the main branch.": "WORKFLOW",
    "We switched to ESM because the new libraries ship no CommonJS.": "ARCHITECTURAL_DECISION",
    "The migration to Vite improved build time by half.": "OUTCOME",
}
EXAMPLES = {
    "prefers Fastify over Express": "PREFERENCE",
    "uses PostgreSQL 15": "FACT",
    "deploys via GitHub Actions": "WORKFLOW",
    "switched to ESM because the libraries need it": "ARCHITECTURAL_DECISION",
    "migration to Vite improved build time": "OUTCOME",
}
# Concatenated here, so that no file contains a secret.
_LONG = "x7Kd02LmQp9RsTuV4wXyZ1aBcDeF3gHiJkLm"


def _key_file(kind: str) -> str:
    name = f"{kind}PRIVATE KEY-----"
    return f"-----BEGIN {name}\n{_LONG}\n-----END {name}"


SECRETS = {
    "an OpenAI key": f"sk-{'proj'}-{_LONG}{_LONG}",
    "a Stripe key": f"sk_{'live'}_{_LONG[:24]}",
    "an AWS key": f"{'AKIA'}J5KD7LMQ29RSTUVX",
    "an AWS secret": f"aws_secret_access_key={_LONG}+4/q",
    "a GitHub token": f"{'ghp'}_{_LONG}",
    "a Slack token": f"{'xoxb'}-840275913664-7719302846155-{_LONG[:24]}",
    "a password": f"password = {'hunter2'}-{_LONG[:12]}",
    "an RSA key": _key_file("RSA "),
    "an EC key": _key_file("EC "),
    "an OpenSSH key": _key_file("OPENSSH "),
    "a connection string": f"postgres://app:{_LONG[:16]}@db.internal:5432/app",
    "a service account": json.dumps({"type": "service_account", "private_key": _key_file("")}),
    "a line of .env": f"STRIPE_SECRET={_LONG}",
}


# The five example sentences


def test_the_five_example_sentences_are_extracted_with_their_categories(root: Path) -> None:
    with open_test_store(root) as store:
        found = store.extract("\n\n".join(SENTENCES), name="notes")
        assert {one.candidate.content: one.candidate.category for one in found} == SENTENCES
        assert {shown.lore.status for shown in store.list(status="pending").lore} == {"pending"}


def test_the_five_literal_examples_get_their_categories_when_recorded(root: Path) -> None:
    with open_test_store(root) as store:
        assert {content: store.record(content).lore.category for content in EXAMPLES} == EXAMPLES
        assert deviates("B", "five categories")
        chatter = "Sure, I will look into that now. Let me open the file. What do you think of it?"
        assert store.extract(chatter) == []
        assert deviates("B", "extraction of any fact")


# Success criteria


def test_recording_works_without_any_configuration(home: Path) -> None:
    done = succeed("remember", "Alex prefers Fastify over Express.")
    assert done.out.startswith("Recorded ")
    assert "Fastify" in succeed("recall", "Fastify or Express").out
    with run_server(home / ".local/share/engram/store") as server:
        assert server.ask("GET", "/lore").json()["total"] == 1
    for term in ("Node.js", "`~/.engram/memory.db`", "port 3838", "dashboard", "`id`: UUIDv4"):
        assert deviates("B", term)


def test_a_vague_text_is_recorded_as_pending(home: Path) -> None:
    assert home.is_dir()
    done = succeed("remember", "x", "--json").json
    assert (done["lore"]["content"], done["lore"]["status"]) == ("x", "pending")
    assert deviates("B", '`remember "x"`')


async def test_an_agent_uses_the_four_tools_by_their_names(root: Path) -> None:
    async with connect_apart("--tools", "core,compat:engram-js", cwd=root) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"engram_remember", "engram_recall", "engram_forget", "engram_status"} <= tools
        call = {
            "content": "Deploys go out via GitHub Actions.",
            "category": "pattern",
            "entity": "GitHub Actions",
        }
        made = await client.call_tool("engram_remember", {**call, "confidence": 0.8, "namespace": "default"})
        assert [block.type for block in made.content] == ["text"]
        lore_id = made.structured_content["id"]
        found = await ok(client, "engram_recall", query="how is it deployed via GitHub Actions", limit=5)
        assert found["lore"][0]["text"] == call["content"]
        assert (await ok(client, "engram_status"))["lore_count"] == 1
        await client.call_tool("engram_forget", {"memory_id": lore_id})
    assert deviates("B", "`namespace`")


@pytest.mark.slow
def test_memories_persist_across_sessions_and_processes(root: Path) -> None:
    assert (
        run_process(
            "remember", "The staging database is reset on Mondays.", cwd=root, ENGRAM_SESSION="one"
        ).code
        == 0
    )
    found = run_process("recall", "when is staging reset", cwd=root, ENGRAM_SESSION="two")
    assert "reset on Mondays" in found.out


def test_recall_is_by_meaning_and_at_most_five_entries_of_about_500_tokens(root: Path) -> None:
    with open_test_store(root) as store:
        store.record("Message brokers deliver twice, so handlers of queues must be idempotent.")
        for number in range(9):
            store.record(f"The tide table of harbour {number} is printed in local time.")
        found = store.query("implementing message consumers")
        assert "idempotent" in found.lore[0].lore.content
        assert len(store.query("tide table of the harbour").lore) == 5
        assert store.store.settings.number("recall.budget") == 500


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_refused_and_nothing_of_it_is_written(root: Path, kind: str) -> None:
    secret = SECRETS[kind]
    with open_test_store(root) as store, pytest.raises(SecretFoundError) as refusal:
        store.record(f"For staging use this: {secret}")
    assert _LONG[:12] not in str(refusal.value)
    assert secret.encode() not in everything_on_disk(root)


def test_a_secret_can_be_masked_instead(root: Path) -> None:
    with open_test_store(root) as store:
        done = store.record(f"The build uses {SECRETS['a GitHub token']} for now.", redact=True)
        assert done.redacted == 1
        assert _LONG not in done.lore.content


def test_agents_are_detected_also_over_the_http_api(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (".claude", ".cursor", ".codeium/windsurf", ".config/Claude", ".ollama"):
        (home / folder).mkdir(parents=True)
    with listening() as (address, _):
        port = int(address.rpartition(":")[2])
        here = [one._replace(port=port if one.name == "n8n" else 1) for one in hosts.PROGRAMS]
        monkeypatch.setattr(connect, "PROGRAMS", tuple(here))
        found = succeed("agents", "--json").json
        lines = succeed("agents").out.splitlines()
    installed = {one["agent"] for one in found["agents"] if one["installed"]}
    assert {"claude-code", "claude-desktop", "cursor", "windsurf"} <= installed
    programs = {one["name"]: (one["installed"], one["running"]) for one in found["programs"]}
    assert programs == {"n8n": (False, True), "ollama": (True, False)}
    assert {("n8n", "running"), ("ollama", "installed")} <= {tuple(line.split()[:2]) for line in lines}
    refusal = cli("connect", "n8n")
    assert (refusal.code, "engram serve" in refusal.err) == (2, True)
    assert {(one.name, one.port) for one in hosts.PROGRAMS} == {("n8n", 5678), ("ollama", 11434)}
    assert deviates("B", "n8n, Ollama")


def test_connecting_makes_backups_merges_and_keeps_other_servers(home: Path, tmp_path: Path) -> None:
    config = home / ".claude.json"
    (home / ".claude").mkdir()
    before = {"theme": "dark", "mcpServers": {"other": {"command": "other", "args": []}}}
    config.write_text(json.dumps(before), "utf-8")
    succeed("connect", "claude-code", "--yes", cwd=tmp_path)
    after = json.loads(config.read_text("utf-8"))
    assert after["mcpServers"]["other"] == before["mcpServers"]["other"]
    assert after["theme"] == "dark"
    assert "engram" in after["mcpServers"]
    (backup,) = home.glob(".claude.json.engram-*.bak")
    assert json.loads(backup.read_text("utf-8")) == before
    assert "connected" in next(
        line for line in succeed("agents").out.splitlines() if line.startswith("claude-code")
    )
    for term in ("`config.json.engram-backup", "`~/.claude/mcp.json`", "config.json"):
        assert deviates("B", term)


def test_recall_degrades_from_meaning_to_words_to_a_scan(root: Path) -> None:
    content = "Queue consumers must be idempotent."
    with open_test_store(root) as store:
        store.record(content)
        for strategy in ("hybrid", "words", "scan"):
            found = store.query("idempotent queue consumers", strategy=strategy)
            assert (found.strategy, found.lore[0].lore.content) == (strategy, content)


# Quality rules


def test_known_text_is_not_stored_again(root: Path) -> None:
    with open_test_store(root) as store:
        first = store.record("Deploys go out via GitHub Actions.")
        again = store.record("Deploys go out via GitHub Actions.")
        other = store.record("Retries are made 3 times by the deploy job.")
        differs = store.record("Retries are made 5 times by the deploy job.")
        assert (again.status, again.lore.id) == ("known", first.lore.id)
        assert other.lore.id != differs.lore.id
        assert store.list().total == 3
    assert deviates("B", "duplicate: similarity")


async def test_a_server_survives_wrong_calls(root: Path) -> None:
    async with connect_inside(root, sets=NAMES) as client:
        for arguments in (
            {},
            {"content": ""},
            {"content": 7},
            {"content": "x" * 5000},
            {"content": "y", "confidence": 9},
        ):
            assert await refused(client, "engram_remember", **arguments)
        assert await refused(client, "engram_forget", memory_id="nothing")
        with mock.patch("engram.usecases.recall.query.query", side_effect=MemoryError):
            await refused(client, "engram_recall", query="anything")
        assert "0" in text(await client.call_tool("engram_status", {}))


def test_reading_changes_no_entry(root: Path) -> None:
    with open_test_store(root) as store:
        path = root / store.record("Queue consumers must be idempotent.").path
        before = path.read_bytes()
        for _ in range(3):
            assert store.query("idempotent queue consumers").lore
        assert path.read_bytes() == before
        assert store.query("idempotent queue consumers").lore[0].lore.confidence == 0.7
    for term in (
        "reading counts",
        "default confidence 0.8",
        "`decay_rate`",
        "score of similarity",
        "threshold 0.3",
    ):
        assert deviates("B", term)


# Commands


def test_every_command_of_the_document_works(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    git(store, "init", "-q")
    succeed("init", "--yes", str(store))
    run: Any = lambda *words: succeed(*words, cwd=store)  # noqa: E731 - the shortest way to pass the folder
    made = run("remember", "Deploys go out via GitHub Actions.", "--json").json["lore"]["id"]
    assert "GitHub Actions" in run("recall", "how are deploys done via GitHub").out
    assert "GitHub Actions" in run("list").out
    assert run("status", "--json").json["lore_count"] == 1
    exported = run("export").json
    run("forget", made, "--yes")
    assert run("list", "--json").json["total"] == 0
    (tmp_path / "export.json").write_text(json.dumps(exported), "utf-8")
    run("import", str(tmp_path / "export.json"))
    assert run("list", "--json").json["total"] == 1
    run("consolidate")
    run("agents")
    assert cli("start", "--json", cwd=store).code == 2  # `serve` by its other name
