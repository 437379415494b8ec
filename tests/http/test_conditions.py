"""Digests as conditions: an entry changes only if it is still what was read, and each digest allows one change."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

from apikit import QUEUE, TIDES, dedicated, open_test_store
from effort import examples
from http_kit import KEY, get, lore, on_the_loopback, open_client, send_request

from engram.http.routes import ROOT

ID = "01KEZ6S41TSV4RRFFQ69G5FAVA"


async def test_a_change_with_an_outdated_digest_is_refused(root: Path) -> None:
    async with open_client(root) as client:
        made = await send_request(client, "POST", "/lore", lore(QUEUE), 201)
        place, tag = made.headers["location"].removeprefix(ROOT), made.headers["etag"]
        assert (await send_request(client, "GET", place)).headers["etag"] == tag
        assert (await send_request(client, "GET", place, status=304, if_none_match=tag)).content == b""
        changed = await send_request(client, "PATCH", place, {"tags": ["a"]}, if_match=tag)
        now = changed.headers["etag"]
        for method, body in (("PATCH", {"tags": []}), ("PUT", lore(TIDES)), ("DELETE", None)):
            for stale in (tag, f"W/{now}", '"nonsense"'):
                late = await send_request(client, method, place, body, 412, if_match=stale)
                assert (late.headers["etag"], late.json()["error"]["code"]) == (now, "conflict")
                assert f'"{late.json()["error"]["current"]}"' == now
        await send_request(client, "PATCH", place, {"tags": []}, 422, if_match=f"{tag}, {now}")
        assert (await send_request(client, "GET", place)).headers["etag"] == now
        assert (await send_request(client, "GET", "/lore")).json()["lore"][0]["digest"] == now.strip('"')
        await send_request(client, "DELETE", place, if_match=now)
        await send_request(client, "PATCH", place, {"tags": []}, 404, if_match=now)


async def test_put_can_require_that_the_entry_exists_or_not(root: Path) -> None:
    async with open_client(root) as client:
        await send_request(client, "PUT", f"/lore/{ID}", lore(QUEUE), 412, if_match="*")
        made = await send_request(client, "PUT", f"/lore/{ID}", lore(QUEUE), 201, if_none_match="*")
        taken = await send_request(client, "PUT", f"/lore/{ID}", lore(TIDES), 412, if_none_match="*")
        assert taken.headers["etag"] == made.headers["etag"]
        await send_request(client, "PUT", f"/lore/{ID}", lore(TIDES), 422, if_none_match='"x"')
        assert (await send_request(client, "PUT", f"/lore/{ID}", lore(TIDES), if_match="*")).json()[
            "created"
        ] is False


def test_of_two_patches_of_one_digest_exactly_one_succeeds(tmp_path: Path) -> None:
    """Two servers on one store, each with its own connection to the disk, and a client of each that starts at once."""
    root = dedicated(tmp_path / "store")
    with open_test_store(root) as store:
        recorded = store.record(QUEUE, category="fact").lore.id
    together = threading.Barrier(2)

    def patch(port: int, tags: str, tag: str) -> int:
        with closing(HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", f"{ROOT}/health")  # so that nobody is late
            connection.getresponse().read()
            headers = {**KEY, "content-type": "application/json", "if-match": tag}
            together.wait(20)
            connection.request("PATCH", f"{ROOT}/lore/{recorded}", json.dumps({"tags": tags}), headers)
            return connection.getresponse().status

    with on_the_loopback(root) as first, on_the_loopback(root) as second, ThreadPoolExecutor(2) as pool:
        read = partial(get, f"http://127.0.0.1:{first}{ROOT}/lore/{recorded}", headers=KEY)
        for turn in range(examples(2, 20)):
            tag = read().headers["etag"]
            tried = [pool.submit(patch, port, f"{turn}-{port}", tag) for port in (first, second)]
            statuses = [one.result(30) for one in tried]
            assert sorted(statuses) == [200, 412]
            winner = (first, second)[statuses.index(200)]
            assert read().json()["lore"]["tags"] == [f"{turn}-{winner}"]


async def test_of_many_concurrent_patches_each_digest_is_used_once(root: Path) -> None:
    async with open_client(root) as client:
        tag = (await send_request(client, "PUT", f"/lore/{ID}", lore(QUEUE), 201)).headers["etag"]
        sent = [
            client.patch(f"{ROOT}/lore/{ID}", json={"tags": [f"t{number}"]}, headers={"if-match": tag})
            for number in range(8)
        ]
        statuses = [answer.status_code for answer in await asyncio.gather(*sent)]
        assert sorted(statuses) == [200] + [412] * 7
