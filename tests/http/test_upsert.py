"""Put, patch and delete over HTTP, idempotency keys, and sync."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from apikit import COLOUR, PROJECT, QUEUE, TIDES, dedicated, lore_files, open_test_store
from http_kit import TOKEN, lore, on_the_loopback, open_client, send_request

from engram.http.routes import ROOT

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"


# --- put


async def test_put_creates_and_replaces_an_entry_with_a_given_id(root: Path) -> None:
    async with open_client(root) as client:
        body = lore(QUEUE, tags=["queue"], importance=0.5, relations=[{"kind": "refines", "id": ID}])
        made = await send_request(client, "PUT", f"/lore/{ID.lower()}", body, 201)
        assert (made.json()["created"], made.json()["lore"]["id"]) == (True, ID)
        assert made.headers["etag"] == f'"{made.json()["lore"]["digest"]}"'
        again = await send_request(client, "PUT", f"/lore/{ID}", body)
        assert (again.json()["created"], again.headers["etag"]) == (False, made.headers["etag"])
        await send_request(client, "POST", "/lore/feedback", {"helpful": [ID]})
        replaced = (
            await send_request(client, "PUT", f"/lore/{ID}", lore(TIDES, expires_at="2031-01-01T00:00:00Z"))
        ).json()["lore"]
        assert (replaced["content"], replaced["tags"], replaced["importance"]) == (TIDES, [], None)
        assert (replaced["relations"], replaced["expires_at"]) == ([], "2031-01-01T00:00:00Z")
        assert (replaced["confidence"], replaced["validation_count"]) == (0.78, 1), "votes stay"
        assert len(lore_files(root)) == 1


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("01KEZ6S4", lore(QUEUE), "id"),
    ("7ZZZZZZZZZ0000000000000000", lore(QUEUE), "id"),
    ("6KEZ6S41TSV4RRFFQ69G5FAVAA", lore(QUEUE), "id"),
    (ID, lore(""), "content"),
    (ID, {"content": QUEUE, "category": "WISDOM"}, "category"),
    (ID, {"category": "FACT"}, "content"),
    (ID, lore(QUEUE, expires_at="soon"), "expires_at"),
    (ID, lore(QUEUE, wisdom=1), "wisdom"),
    (ID, lore(QUEUE, relations=[{"kind": "loves", "id": ID}]), "relations[0].kind"),
]


async def test_an_invalid_put_names_the_field(root: Path) -> None:
    async with open_client(root) as client:
        for name, body, field in WRONG:
            problem = (await send_request(client, "PUT", f"/lore/{name}", body, 422)).json()
            assert (problem["error"]["code"], problem["error"]["field"]) == ("invalid", field)
    assert lore_files(root) == []


async def test_null_in_a_merge_patch_removes_a_value(root: Path) -> None:
    async with open_client(root) as client:
        body = lore(
            QUEUE, tags=["a"], files=["x.py"], context="Here", importance=0.3, expires_at="2031-01-01"
        )
        await send_request(client, "PUT", f"/lore/{ID}", body, 201)
        answer = await client.patch(
            f"{ROOT}/lore/{ID}",
            content=json.dumps(
                {"tags": None, "files": [], "importance": None, "expires_at": None, "context": ["There"]}
            ),
            headers={"content-type": "application/merge-patch+json"},
        )
        found = answer.json()["lore"]
        assert (found["tags"], found["files"], found["importance"], found["expires_at"]) == (
            [],
            [],
            None,
            None,
        )
        assert (found["context"], found["content"]) == ("There", QUEUE)
        for field in ("content", "category", "confidence", "pinned", "status"):
            problem = (await send_request(client, "PATCH", f"/lore/{ID}", {field: None}, 422)).json()
            assert problem["error"]["field"] == field
        await send_request(client, "PATCH", f"/lore/{ID}", {}, 422)


# --- keys


async def test_a_repeated_request_with_a_key_is_done_once(root: Path) -> None:
    async with open_client(root) as client:
        requests = [
            ("POST", "/lore", lore(QUEUE)),
            ("POST", "/lore", [lore(COLOUR), {"nothing": 1}]),
            ("PUT", f"/lore/{ID}", lore(TIDES)),
            ("PATCH", f"/lore/{ID}", {"tags": ["a"]}),
            ("POST", "/lore/feedback", {"helpful": [ID]}),
            ("DELETE", f"/lore/{ID}", None),
        ]
        for number, (method, path, body) in enumerate(requests):
            headers = {"idempotency-key": f"request {number}"}
            first = await client.request(method, f"{ROOT}{path}", json=body, headers=headers)
            files = {path: path.read_bytes() for path in lore_files(root)}
            again = await client.request(method, f"{ROOT}{path}", json=body, headers=headers)
            assert first.status_code in (200, 201), first.text
            assert "idempotency-replayed" not in first.headers
            assert again.headers["idempotency-replayed"] == "true"
            for header in ("etag", "location"):
                assert again.headers.get(header) == first.headers.get(header)
            assert (again.status_code, again.content) == (first.status_code, first.content)
            assert {path: path.read_bytes() for path in lore_files(root)} == files
            other = await send_request(client, "PUT", f"/lore/{ID}", lore("Other."), 409, **headers)
            assert other.json()["error"]["code"] == "conflict"


async def test_a_key_outlives_the_server_and_a_refused_request_does_not_use_it_up(root: Path) -> None:
    async with open_client(root) as client:
        await send_request(client, "POST", "/lore", lore(""), 422, idempotency_key='"k1"')
        made = await send_request(client, "POST", "/lore", lore(QUEUE), 201, idempotency_key='"k1"')
        await send_request(client, "POST", "/lore", lore(QUEUE), 422, idempotency_key="")
        await send_request(client, "POST", "/lore", lore(QUEUE), 422, idempotency_key="k" * 201)
    async with open_client(root) as client:
        again = await send_request(client, "POST", "/lore", lore(QUEUE), 201, idempotency_key="k1")
        assert again.json() == made.json()
        assert (await send_request(client, "GET", "/lore")).json()["total"] == 1


# --- sync


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    return tmp_path / "remote.git"


async def test_a_store_is_synced_over_http(tmp_path: Path, remote: Path) -> None:
    root = dedicated(tmp_path / "store")
    async with open_client(root) as client:
        problem = (await send_request(client, "POST", "/sync", status=409)).json()
        assert problem["error"]["kind"] == "no-remote"
    with open_test_store(root) as store:
        store.add_remote("origin", str(remote))
    async with open_client(root) as client:
        await send_request(client, "POST", "/lore", lore(QUEUE), 201)
        for name in ("nowhere", "--upload-pack=touch x", f"file://{root}", "../remote.git"):
            await send_request(client, "POST", "/sync", {"remote": name}, 422)
        done = (await send_request(client, "POST", "/sync")).json()
        assert (done["ok"], done["remote"], done["errors"]) == (True, "origin", [])
        assert done["pushed"] >= 1
        nothing = (await send_request(client, "POST", "/sync", {"push": False, "timeout": 20})).json()
        assert (nothing["pulled"], nothing["pushed"]) == (0, 0)
        await send_request(client, "POST", "/sync", {"force": True}, 422)
        with open_test_store(root) as store:
            store.add_remote("gone", str(tmp_path / "gone.git"))
        problem = (await send_request(client, "POST", "/sync", {"remote": "gone"}, 502)).json()
        assert problem["error"]["code"] == "remote"


async def test_a_store_without_its_own_git_cannot_be_synced(root: Path) -> None:
    async with open_client(root) as client:
        assert (await send_request(client, "POST", "/sync", {}, 422)).json()["error"]["code"] == "usage"


# --- the worked example


@pytest.mark.skipif(shutil.which("curl") is None, reason="the example is written with curl")
def test_the_example_of_the_documentation_works(root: Path, tmp_path: Path) -> None:
    page = (PROJECT / "docs/http-api.md").read_text("utf-8")
    (script,) = re.findall(r"^```sh worked\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with on_the_loopback(root) as port:
        done = subprocess.run(
            ["sh", "-eu", "-c", script.replace("127.0.0.1:8849", f"127.0.0.1:{port}")], cwd=tmp_path, text=True,
            env={**os.environ, "KEY": f"Authorization: Bearer {TOKEN}", "no_proxy": "*"}, capture_output=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"# → (.*)$", script, re.MULTILINE)
