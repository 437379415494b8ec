"""Recording an existing entry again confirms it, by every way of recording, in any order, from two clones."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from apikit import (
    QUEUE,
    TIDES,
    SetClock,
    cli,
    dedicated,
    git,
    lore_files,
    make_plain_store,
    ok,
    open_test_store,
)
from effort import sampled
from hookkit import answer
from http_kit import ROOT, open_client
from mcp_kit import connect_inside
from mcp_kit import ok as mcp_ok

from engram.usecases.agents import session_capture
from engram.usecases.recording.record import Draft, record
from engram.usecases.store import captured, judgements
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from engram.domain.entry.lore import Lore

TEXT = "Root cause: the upload client retries without the multipart header, so the proxy drops the body."
SPACED = "\r\n" + TEXT + "  \n\n"


async def by_cli(root: Path) -> None:
    ok("record", SPACED, "-c", "decision", "--agent", "ada", cwd=root)


async def by_mcp(root: Path) -> None:
    async with connect_inside(root) as client:
        await mcp_ok(client, "recall_record", content=SPACED)


async def by_http(root: Path) -> None:
    async with open_client(root) as client:
        sent = {"lore": [{"content": SPACED}, {"content": TEXT}]}
        assert (await client.post(f"{ROOT}/lore", json=sent)).json()["rejected"] == 0


async def by_python(root: Path) -> None:
    with open_test_store(root, agent="bot", clock=Clock()) as store:
        store.record(SPACED)
        store.record_all([Draft(TEXT, "FACT")])


async def by_import(root: Path) -> None:
    folder = root.parent / "notes"
    folder.mkdir(exist_ok=True)
    (folder / "upload.md").write_text(TEXT + "\n", "utf-8")
    for _ in range(2):
        ok("import", str(folder), cwd=root)


async def by_hook(root: Path) -> None:
    assert answer("claude-code", "subagent-stop", root) is None
    with open_test_store(root, clock=Clock()) as store:
        session_capture.process_reports(store.store)


WAYS: tuple[Callable[[Path], Awaitable[None]], ...] = (by_cli, by_mcp, by_http, by_python, by_import, by_hook)
ORDERS = random.Random(20).sample([*permutations(WAYS)], 24)


def only(root: Path) -> tuple[Lore, list[tuple[str, str, str]]]:
    """Return the only entry and its judgements: kind, source, agent."""
    with open_test_store(root, clock=Clock()) as store:
        store.refresh()
        (shown,) = store.list(limit=None).lore
        assert captured.list_captured(store.store) == []
        lines = judgements.lines_of(store.store, [shown.lore.id, *shown.lore.merged_from])
        return shown.lore, [(line.kind, line.source, line.agent) for line in lines]


def names(order: Any) -> str:
    return (
        "-".join(way.__name__.removeprefix("by_") for way in order)
        if isinstance(order, tuple)
        else str(order)
    )


@sampled("order", ORDERS, ids=names)
async def test_the_same_text_by_every_way_in_is_one_entry_and_each_author_counts_once(
    order: tuple[Any, ...], tmp_path: Path
) -> None:
    root = dedicated(tmp_path / "store")
    for way in (*order, *order):
        await way(root)
    lore, lines = only(root)
    assert len(lore_files(root)) == 1
    assert (lore.confidence, lore.status) == (0.70, "active")
    assert {kind for kind, _, _ in lines} <= {"confirmed"}
    assert len(lines) == len(set(lines))  # once per author and day
    assert ("confirmed", lore.source_id, lore.agent) not in lines
    with open_test_store(root, clock=Clock()) as store:
        assert [hit.lore.id for hit in store.query("why does the proxy drop the body of an upload").lore] == [
            lore.id
        ]


@sampled("seed", range(12))
async def test_two_clones_that_record_and_sync_in_any_order_keep_one_entry_that_counts_both(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    roots = [dedicated(tmp_path / "a" / "store"), tmp_path / "b" / "store"]
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    git(roots[0], "remote", "add", "origin", str(hub))
    ok("sync", cwd=roots[0])
    roots[1].parent.mkdir()
    ok("clone", str(hub), str(roots[1]), cwd=tmp_path)
    spoke = set[int]()
    for _ in range(4):
        who, way = chance.randrange(2), chance.choice(WAYS[:5])
        await way(roots[who])
        spoke.add(who)
        if chance.random() < 0.5:
            ok("sync", cwd=roots[chance.randrange(2)])
    for root in (*roots, *roots):
        ok("sync", cwd=root)
    found = [only(root) for root in roots]
    assert found[0][0].id == found[1][0].id
    assert [lore.confidence for lore, _ in found] == [0.70 if len(spoke) == 1 else 0.80] * 2
    assert sorted(found[0][1]) == sorted(found[1][1])
    assert len({line[1] for line in found[0][1]} | {found[0][0].source_id}) == len(spoke)


def test_an_author_counts_once_a_day_and_keeps_the_entry_from_fading(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        first = store.record(QUEUE, category="fact").lore
        assert store.record(QUEUE).confirmed is False
        clock.advance(days=1)
        assert [store.record(QUEUE).confirmed for _ in range(3)] == [True, False, False]
        assert [store.record(QUEUE, agent="other").confirmed for _ in range(2)] == [True, False]
        assert store.get(first.id).lore.confidence == 0.70
        clock.advance(days=29)
        assert store.get(first.id).lore.confidence == 0.70


def test_new_items_of_lists_are_added_and_the_text_stays(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        first = store.record(QUEUE, category="fact", tags=["broker"]).lore
        done = store.record(
            QUEUE, category="decision", tags=["queue"], files=["src/queue.py"], when=["tool: psql"]
        )
        assert (done.status, done.lore.id, done.lore.category) == ("known", first.id, "FACT")
        assert (done.lore.tags, done.lore.files, done.lore.when) == (
            ("broker", "queue"),
            ("src/queue.py",),
            ("tool: psql",),
        )
    assert len(lore_files(tmp_path)) == 1


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_an_entry_out_of_use_is_active_again_when_it_is_recorded(status: str, tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        first = store.record(QUEUE, category="fact").lore
        store.patch(first.id, {"status": status})
        done = store.record(QUEUE)
        assert (done.status, done.lore.id, done.lore.status, done.was) == (
            "known",
            first.id,
            "active",
            status,
        )


def test_an_expired_entry_gets_the_expiry_of_the_new_one(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        first = store.record(QUEUE, category="fact", expires_at=clock.now() + timedelta(days=1)).lore
        clock.advance(days=2)
        done = store.record(QUEUE)
        assert (done.lore.id, done.was, done.lore.expires_at) == (first.id, "expired", None)


def test_the_command_shows_a_similar_entry_in_full_with_the_choices(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    first = json.loads(ok("record", QUEUE, "-c", "fact", "--json", cwd=root).out)["lore"]["id"]
    near = QUEUE.replace("every handler", "each handler")
    said = ok("record", near, "-c", "fact", cwd=root).out
    assert f"Very similar to {first}" in said
    assert QUEUE in " ".join(said.split())
    assert "--same-as" in said
    assert "--supersedes" in said
    assert ok("record", near, "--same-as", first, cwd=root).out.startswith(f"Already known: {first}")
    assert len(lore_files(root)) == 1
    done = cli("record", "Queue consumer patterns changed.", "-c", "fact", "--supersedes", first, cwd=root)
    assert done.code == 0
    assert "superseded" in ok("show", first, "--json", cwd=root).out


def test_a_hook_that_repeats_what_its_session_was_shown_confirms_nothing(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    with open_test_store(root, session="s1", agent="human", clock=Clock()) as store:
        lore = store.record(TEXT, category="fact").lore
        store.refresh()
        report = session_capture.Report(session="s1", agent="claude-code", event="subagent-stop", said=TEXT)
        shown = store.inject("why does the upload client retry without the multipart header")
        assert "multipart" in shown
        session_capture.submit_report(store.store, report)
        session_capture.process_reports(store.store)
        assert judgements.lines_of(store.store, [lore.id]) == []
        session_capture.submit_report(store.store, report._replace(session="s2"))
        session_capture.process_reports(store.store)
        assert [line.kind for line in judgements.lines_of(store.store, [lore.id])] == ["confirmed"]
        assert store.list().total == 1


def test_an_answer_shows_each_thing_once_and_says_how_many_more_there_are(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=Clock()) as store:
        for text in (QUEUE, QUEUE, QUEUE.replace("brokers deliver", "the brokers deliver"), TIDES):
            record(store.store, Draft(text, "FACT"), again=True)
        found = store.query("queue consumer patterns idempotent handler")
        (queue,) = [hit for hit in found.lore if "idempotent" in hit.lore.content]
        assert len(queue.twins) == 2
        assert "L1: and 2 that say the same" in found.notes


async def test_an_agent_learns_where_an_entry_went_and_how_to_create_a_project_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with connect_inside(None) as client:
        done = await mcp_ok(client, "recall_record", content=QUEUE)
    assert done["scope"] == "user"
    assert "`engram init`" in done["note"]
    async with connect_inside(make_plain_store(tmp_path / "store")) as client:
        done = await mcp_ok(client, "recall_record", content=QUEUE)
    assert done["scope"] == "project"
    assert "note" not in done
