"""The HTTP API in this process: every resource with its shapes, admission, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import COLOUR, QUEUE, SECRET, TIDES, cli, dedicated, git, open_test_store
from http_kit import TOKEN, get, lore, open_client, post_document, run_server

from engram.http.routes import ROOT
from engram.serving.rates import Rate
from engram.serving.request_checks import MOST_BYTES
from engram.usecases.opening.init import init

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2


async def got(client: httpx2.AsyncClient, path: str, expected: int = 200, **query: Any) -> dict[str, Any]:
    answer = await client.get(f"{ROOT}{path}", params=query)
    assert answer.status_code == expected, answer.text
    return answer.json()


async def test_an_entry_is_recorded_recalled_judged_changed_and_deleted(root: Path) -> None:
    async with open_client(root) as client:
        made = await post_document(
            client, "/lore", lore(QUEUE, tags=["queue"], confidence=0.8, when=["tool: WebFetch"]), 201
        )
        assert (made["accepted"], made["merged"], made["rejected"], made["errors"]) == (1, 0, 0, [])
        lore_id = made["lore"][0]["id"]
        found = await post_document(client, "/query", {"query": "queue consumer patterns", "k": 3})
        assert (found["strength"], found["session_refs"]) == ("strong", {"L1": lore_id})
        assert found["lore"][0]["content"] == QUEUE
        assert {"score", "why", "scope", "path", "validation_count", "origin"} <= set(found["lore"][0])
        judged = await post_document(client, "/lore/feedback", {"helpful": ["L1"]})
        (vote,) = judged["updated"]
        assert (vote["previous"], vote["current"], vote["validation_count"]) == (0.8, 0.88, 1)
        assert judged["updates"] == judged["updated"]
        changed = await client.patch(
            f"{ROOT}/lore/{lore_id[:14]}",
            json={"tags": ["broker"], "pinned": True, "when": ["command: git push"]},
        )
        assert (changed.json()["lore"]["tags"], changed.json()["lore"]["pinned"]) == (["broker"], True)
        assert (await got(client, f"/lore/{lore_id}"))["lore"]["tags"] == ["broker"]
        assert (found["lore"][0]["when"], changed.json()["lore"]["when"]) == (
            ["tool: WebFetch"],
            ["command: git push"],
        )
        gone = await client.delete(f"{ROOT}/lore/{lore_id}")
        assert gone.json() == {"deleted": lore_id, "undo": ""}
        assert (await got(client, f"/lore/{lore_id}", 404))["error"]["code"] == "not-found"


async def test_a_batch_reports_the_outcome_of_each_entry(root: Path) -> None:
    batch = {
        "source_id": "devcontainer-abc123",
        "lore": [
            lore(QUEUE),
            lore("x" * 4001),
            lore(TIDES, category="WISDOM"),
            lore(f"key {SECRET}"),
            {"text": "?"},
        ],
        "flush": False,
    }
    async with open_client(root) as client:
        done = await post_document(client, "/lore", batch)
        assert (done["accepted"], done["merged"], done["rejected"]) == (1, 0, 4)
        assert [one["outcome"] for one in done["lore"]] == ["accepted", *["rejected"] * 4]
        assert [said.partition(":")[0] for said in done["errors"]] == [
            "lore[1].content", "lore[2].category", "lore[3]", "lore[4].text"
        ]  # fmt: skip
        assert SECRET not in json.dumps(done)
        assert (await got(client, "/lore"))["lore"][0]["agent"] == "devcontainer-abc123"
        again = await post_document(client, "/lore", [lore(QUEUE), lore(COLOUR)])
        assert (again["accepted"], again["merged"]) == (1, 1)
        assert again["lore"][0]["id"] == done["lore"][0]["id"]
        assert (await post_document(client, "/lore", lore(QUEUE)))["merged"] == 1


async def test_feedback_one_by_one_as_clients_of_recall_send_it(root: Path) -> None:
    async with open_client(root) as client:
        made = await post_document(
            client, "/lore", [lore(QUEUE, confidence=0.6), lore(TIDES, confidence=0.6)]
        )
        first, second = (one["id"] for one in made["lore"])
        judgements = [{"id": first, "outcome": "helpful"}, {"id": second, "outcome": "incorrect"}]
        body = {"source_id": "x", "feedback": judgements}
        updates = (await post_document(client, "/lore/feedback", body))["updates"]
        assert {one["id"]: one["current"] for one in updates} == {first: 0.68, second: 0.45}
        unknown = {"feedback": [{"id": "01KEZ6S41TSV4RRFFQ69G5FAVA", "outcome": "helpful"}]}
        assert (await post_document(client, "/lore/feedback", unknown, 404))["status"] == 404
        wrong = {"feedback": [{"id": first, "outcome": "great"}]}
        problem = await post_document(client, "/lore/feedback", wrong, 422)
        assert problem["errors"][0]["field"] == "feedback[0].outcome"


async def test_lists_by_filter_and_page(root: Path) -> None:
    with open_test_store(root) as store:
        for content, tags in ((QUEUE, ["a", "b"]), (COLOUR, ["a"]), (TIDES, [])):
            store.record(content, category="fact", tags=tags)
    async with open_client(root) as client:
        assert [one["content"] for one in (await got(client, "/lore"))["lore"]] == [TIDES, COLOUR, QUEUE]
        page = await got(client, "/lore", limit=1, offset=1)
        assert ([one["content"] for one in page["lore"]], page["total"]) == ([COLOUR], 3)
        assert (await got(client, "/lore", tag=["a", "b"], sort="title"))["total"] == 1
        for query in (
            {"limit": "0"},
            {"limit": "x"},
            {"offset": "-1"},
            {"sort": "x"},
            {"status": "x"},
            {"category": "x"},
        ):
            assert (await got(client, "/lore", 422, **query))["status"] == 422


async def test_a_copy_is_kept_up_to_date_by_snapshot_and_delta(root: Path) -> None:
    async with open_client(root) as client:
        made = await post_document(client, "/lore", [lore(QUEUE), lore(COLOUR)])
        whole = await client.get(f"{ROOT}/lore/snapshot")
        copy = {row["id"]: row for row in map(json.loads, whole.text.splitlines())}
        assert list(copy) == sorted(one["id"] for one in made["lore"])  # of one millisecond in any order
        assert whole.headers["content-type"].startswith("application/x-ndjson")
        first, second = copy
        (root / "lore/dropped.md").write_text(
            "---\nid: 01KEZ6S41TSV4RRFFQ69G5FAVA\n---\n\nDropped into the folder.\n"
        )
        await client.delete(f"{ROOT}/lore/{first}")
        await post_document(client, "/lore/feedback", {"helpful": [second]})
        delta = await got(client, "/lore/delta", since=whole.headers["engram-as-of"])
        assert delta["deleted_ids"] == [first]
        assert {one["id"] for one in delta["lore"]} == {second, "01KEZ6S41TSV4RRFFQ69G5FAVA"}
        exact = await got(client, "/lore/delta", since=whole.headers["engram-cursor"], limit=2)
        rest = await got(client, "/lore/delta", since=exact["cursor"], limit=2)
        assert (exact["more"], rest["more"]) == (True, False)
        assert exact["deleted_ids"] + rest["deleted_ids"] == [first]
        assert exact["created_ids"] + rest["created_ids"] == ["01KEZ6S41TSV4RRFFQ69G5FAVA"]
        assert len(exact["lore"] + rest["lore"]) == 2
        for since in ("ZZZZZZZZ-1", f"{rest['cursor']}0"):
            assert (await got(client, "/lore/delta", 410, since=since))["error"]["code"] == "not-found"
        nothing = await got(client, "/lore/delta", 400, since="2999-01-01T00:00:00Z")
        assert "future" in nothing["detail"]
        for since in ("", "yesterday", "0016-05-14T19:35:23Z"):
            assert (await client.get(f"{ROOT}/lore/delta", params={"since": since})).status_code in (200, 400)


async def test_a_deletion_names_undo_also_in_a_store_on_a_branch_of_code(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "code")
    init(str(tmp_path / "code"), placement="branch")
    async with open_client(tmp_path / "code") as client:
        made = await post_document(client, "/lore", lore(QUEUE), 201)
        gone = await client.delete(f"{ROOT}/lore/{made['lore'][0]['id']}")
        assert gone.json()["undo"] == "engram undo"


async def test_a_file_that_came_back_is_not_among_the_deleted_ids(root: Path) -> None:
    with open_test_store(root) as store:
        path = root / store.record(QUEUE, category="fact").path
        store.refresh()
        content = path.read_bytes()
        path.unlink()
        assert store.refresh().removed == 1
        path.write_bytes(content)
    async with open_client(root) as client:
        delta = await got(client, "/lore/delta", since="2020-01-01T00:00:00Z")
        assert (delta["deleted_ids"], len(delta["lore"])) == ([], 1)


async def test_health_has_fewer_fields_without_the_token(root: Path) -> None:
    async with open_client(root) as client:
        await post_document(client, "/lore", lore(QUEUE), 201)
        assert (await got(client, "/health"))["lore_count"] == 1
        stranger = await client.get(f"{ROOT}/health", headers={"authorization": ""})
        assert (stranger.status_code, set(stranger.json())) == (200, {"status", "version"})
        assert (await client.get("/health")).json()["status"] == "healthy"


async def test_metrics_and_activity_log_include_http_requests(root: Path) -> None:
    async with open_client(root, **{"engram-agent": "n8n", "engram-session": "flow 7"}) as client:
        await post_document(client, "/lore", lore(QUEUE), 201)
        await post_document(client, "/query", {"query": "queue consumers"})
        text = await client.get("/metrics")
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'engram_recalled_total{via="http"} 1' in text.text
    with open_test_store(root) as store:
        asked = store.live()[-1]
    assert (asked.via, asked.agent, asked.session) == ("http", "n8n", "flow 7")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
async def test_only_callers_with_token_and_allowed_host_are_admitted(
    root: Path, headers: dict[str, str], status: int
) -> None:
    async with open_client(root) as client:
        answer = await client.get(f"{ROOT}/lore", headers=headers)
        assert answer.status_code == status
        assert TOKEN not in answer.text
        if status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
        if status != 200:
            assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"", "", 415),
        (b"null", "application/json", 422),
        (b"[]", "application/json", 422),
        (b'{"lore": []}', "application/json", 422),
        (b'{"lore": 7}', "application/json", 422),
        (b'{"content": "x", "category": "FACT", "confidence": NaN}', "application/json", 422),
        (b'{"content": "\\ud800", "category": "FACT"}', "application/json", 422),
        (b'{"content": "x", "category": "\\ud800"}', "application/json", 422),
        (b'{"content": "x", "category": "FACT", "wisdom": 1}', "application/json", 422),
        (b"x" * (MOST_BYTES + 1), "application/json", 413),
    ],
)
async def test_invalid_bodies_are_refused(root: Path, content: bytes, kind: str, status: int) -> None:
    async with open_client(root) as client:
        answer = await client.post(
            f"{ROOT}/lore", content=content, headers={"content-type": kind} if kind else {}
        )
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert len(answer.content) < 4000


async def test_the_size_limit_also_applies_to_bodies_without_a_declared_length(root: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 100_000

    async with open_client(root) as client:
        assert (await client.post(f"{ROOT}/lore", content=endless())).status_code == 413


async def test_names_in_paths_are_ids_or_refs_and_never_words(root: Path) -> None:
    async with open_client(root) as client:
        await post_document(client, "/lore", lore(QUEUE), 201)
        await post_document(client, "/query", {"query": "queue consumers"})
        for name in ("queue", "consumer%20patterns", "..%2f..", "L0", "L1x", "%00"):
            assert (await client.delete(f"{ROOT}/lore/{name}")).status_code == 404
        assert (await client.delete(f"{ROOT}/lore/L1")).status_code == 200


async def test_unknown_paths_and_methods_are_problems(root: Path) -> None:
    async with open_client(root) as client:
        assert (await got(client, "/wisdom", 404))["error"]["hint"] == f"See {ROOT}/openapi.json."
        answer = await client.put(f"{ROOT}/lore")
        assert (answer.status_code, answer.json()["title"]) == (405, "Method Not Allowed")
        assert (await client.head(f"{ROOT}/lore")).status_code == 200


async def test_too_many_requests_are_told_to_wait(root: Path) -> None:
    async with open_client(root, rate=20) as client:
        statuses = [(await client.get(f"{ROOT}/health")).status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        assert int((await client.get(f"{ROOT}/health")).headers["retry-after"]) >= 1


def test_a_rate_bucket_fills_again() -> None:
    now = [0.0]
    rate = Rate(60, lambda: now[0])
    assert [rate.wait("a") for _ in range(16)] == [0.0] * 15 + [1.0]
    assert rate.wait("b") == 0.0
    now[0] = 2.0
    assert [rate.wait("a") for _ in range(3)] == [0.0, 0.0, 1.0]
    assert [Rate(0).wait("a") for _ in range(3)] == [0.0] * 3


@pytest.mark.slow
def test_a_server_answers_on_the_loopback(tmp_path: Path) -> None:
    with run_server(dedicated(tmp_path / "store")) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert get(f"{server.url}/lore").status_code == 401
        server.ask("POST", "/lore", lore(QUEUE), 201)
        assert server.ask("GET", "/lore").json()["total"] == 1


def test_a_server_that_cannot_start_says_why(root: Path, tmp_path: Path) -> None:
    assert cli("serve", "--json", cwd=root).code == 2
    assert cli("serve", "--rate", "-1", cwd=root).code == 2
    assert cli("serve", "--host", "0.0.0.0", cwd=root).code == 2
    assert cli("serve", "--store", str(tmp_path / "nowhere")).code == 3


async def test_a_scope_is_honoured_or_refused_and_never_ignored(root: Path, home: Path) -> None:
    salaries = {"content": "Salaries are discussed on Fridays.", "category": "FACT"}
    async with open_client(root) as client:
        for scope in ("team", "somebody"):
            for path, body in (
                ("/lore", salaries),
                ("/query", {"query": "salaries"}),
                ("/lore/feedback", {"helpful": ["L1"]}),
            ):
                said = await post_document(client, path, {**body, "scope": scope}, 422)
                assert said["error"]["hint"], (path, scope)
            batch = await post_document(client, "/lore", {"lore": [{**salaries, "scope": scope}]})
            assert batch["rejected"] == 1
        assert (await post_document(client, "/lore", {**salaries, "scope": "private"}, 201))["lore"][0][
            "scope"
        ] == "user"
        assert (await post_document(client, "/query", {"query": "salaries", "scope": "project"}))[
            "lore"
        ] == []
        assert (
            len((await post_document(client, "/query", {"query": "salaries", "scope": "user"}))["lore"]) == 1
        )
        assert "scope" in (await post_document(client, "/lore?scope=user", salaries, 422))["error"]["message"]
        await post_document(client, "/lore?user_id=alex", {"lore": [salaries]}, 422)
        for path in ("/lore", "/lore/delta", "/lore/snapshot"):
            said = await got(client, path, 422, scope="user")
            assert said["error"]["message"] == "The query string is not valid: there is no 'scope'."
        await got(client, "/health", scope="user")
        assert (await got(client, "/lore"))["total"] == 0
