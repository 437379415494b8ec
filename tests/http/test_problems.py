"""The HTTP API with a broken store or unauthorized callers: requests are refused with a reason, and nothing is written."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, lore_files, make_plain_store, open_test_store
from http_kit import lore, open_client, send_request
from storekit import disk_full_after, unprivileged

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError
from engram.http.routes import RESOURCES, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"


# --- the store cannot be used


async def test_a_locked_store_is_unavailable_until_it_is_released(root: Path) -> None:
    with open_test_store(root) as store:
        held = FileLock(str(Path(store.store.places.state) / "write.lock"))
    async with open_client(root, patience=0.3) as client:
        await send_request(client, "GET", "/lore")
        with held:
            busy = await send_request(client, "PUT", f"/lore/{ID}", lore(QUEUE), 503)
        assert (busy.headers["retry-after"], busy.json()["error"]["code"]) == ("5", "failed")
    async with open_client(root) as client:
        await send_request(client, "PUT", f"/lore/{ID}", lore(QUEUE, tags=["later"]), 200)


async def test_on_a_full_disk_every_change_is_refused_and_nothing_is_written(root: Path) -> None:
    with open_test_store(root) as store:
        recorded = store.record(QUEUE, category="fact").lore.id
    before = {path: path.read_bytes() for path in lore_files(root)}
    async with open_client(root) as client:
        await send_request(client, "GET", "/lore")
        with disk_full_after():
            for method, path, body, key in (
                ("POST", "/lore", lore("Room again."), "k"),
                ("POST", "/lore", lore(TIDES), ""),
                ("PATCH", f"/lore/{recorded}", {"tags": ["a"]}, ""),
                ("PATCH", f"/lore/{recorded}", {"tags": ["a"]}, "p"),
                ("PUT", f"/lore/{ID}", lore(TIDES), ""),
            ):
                await send_request(client, "GET", f"/lore/{recorded}")
                headers = {"idempotency-key": key} if key else {}
                refused = await send_request(client, method, path, body, 503, **headers)
                assert refused.json()["error"]["code"] in ("store", "index")
                assert refused.headers["retry-after"] == "5"
        assert {path: path.read_bytes() for path in lore_files(root)} == before
        await send_request(client, "POST", "/lore", lore("Room again."), 201, idempotency_key="k")
        assert len(lore_files(root)) == 2


@contextmanager
def may_only_read(root: Path) -> Iterator[None]:
    """Nobody may write there."""
    places = [Path(place) for place, _, _ in os.walk(root)]
    for place in places:
        place.chmod(0o555)
    try:
        with unprivileged():
            yield
    finally:
        for place in places:
            place.chmod(0o755)


async def test_a_read_only_store_is_read_and_refuses_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # which every user may enter, unlike pytest's own
        os.chmod(folder, 0o755)
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, folder)
        monkeypatch.chdir(folder)
        root = make_plain_store(Path(folder) / "store")
        async with open_client(root) as client:
            for method, body in (
                ("PUT", lore(QUEUE)),
                ("PATCH", {"tags": ["a"]}),
                ("GET", None),
            ):  # loads what is needed
                found = await client.request(method, f"{ROOT}/lore/{ID}", json=body)
            await send_request(client, "POST", "/query", {"query": "queue consumers"})
            before = {path: path.read_bytes() for path in lore_files(root)}
            with may_only_read(root):
                for method, path, body in (
                    ("POST", "/lore", lore(TIDES)),
                    ("PUT", f"/lore/{ID}", lore(TIDES)),
                    ("PATCH", f"/lore/{ID}", {"tags": ["b"]}),
                    ("DELETE", f"/lore/{ID}", None),
                ):
                    for key in ({}, {"idempotency-key": method}):
                        problem = (await send_request(client, method, path, body, 503, **key)).json()
                        assert problem["error"]["code"] in ("store", "index")
                assert (await send_request(client, "GET", f"/lore/{ID}")).json() == found.json()
                assert (await send_request(client, "POST", "/query", {"query": "queue consumers"})).json()[
                    "lore"
                ]
            assert {path: path.read_bytes() for path in lore_files(root)} == before


async def test_a_damaged_index_and_idempotency_table_are_repaired(root: Path) -> None:
    async with open_client(root) as client:
        made = await send_request(client, "POST", "/lore", lore(QUEUE), 201, idempotency_key="k")
        cursor = (await send_request(client, "GET", "/lore/delta")).json()["cursor"]
    with open_test_store(root) as store:
        state = Path(store.store.places.state)
    for damaged in (state / "keys.db", *(state / "index").rglob("catalog*")):
        damaged.write_bytes(b"x" * 5000)
    async with open_client(root) as client:
        assert (await send_request(client, "GET", "/lore")).json()["total"] == 1
        again = await send_request(client, "POST", "/lore", lore(QUEUE), 200, idempotency_key="k")
        assert again.json()["lore"][0]["id"] == made.json()["lore"][0]["id"], (
            "the same text is recorded once anyway"
        )
        nothing = (await send_request(client, "GET", f"/lore/delta?since={cursor}")).json()
        assert (nothing["lore"], nothing["deleted_ids"], nothing["cursor"]) == ([], [], cursor)
    assert (state / "keys.db.damaged").exists()


# --- who gets in


async def test_every_resource_checks_token_host_and_origin(root: Path) -> None:
    async with open_client(root) as client:
        for resource in RESOURCES:
            path = f"{ROOT}{resource.path}".replace("{id}", ID)
            for headers, status in (
                ({"authorization": ""}, 401),
                ({"authorization": "Bearer wrong"}, 401),
                ({"host": "evil.example"}, 421),
                ({"origin": "https://evil.example"}, 403),
            ):
                answer = await client.request(resource.method, path, headers=headers)
                expected = 200 if status == 401 and resource.path == "/health" else status
                assert answer.status_code == expected, (resource.method, path, headers)
    assert lore_files(root) == []


def test_a_locked_idempotency_table_is_reported(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact", key="k")
        database = sqlite3.connect(Path(store.store.places.state) / "keys.db", isolation_level=None)
        database.execute("BEGIN EXCLUSIVE")
        table = store.store.durable[str(Path(store.store.places.state) / "keys.db")]
        table._connection.execute("PRAGMA busy_timeout = 1")
        with pytest.raises(EngramError, match="cannot be used now"):
            store.record(TIDES, category="fact", key="k2")
        database.execute("ROLLBACK")
        database.close()
        assert store.record(TIDES, category="fact", key="k2").status == "recorded"
