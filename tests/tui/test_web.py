"""`engram tui --web`: access control, the pages, and that nothing is left when it ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import browser_kit
import pytest
from apikit import cli

import engram
from engram.serving import Address, listen

aiohttp = pytest.importorskip("aiohttp", reason="the extra engram-lore[web] is not installed")
pytest.importorskip("textual_serve", reason="the extra engram-lore[web] is not installed")

from engram_tui.web import server  # noqa: E402 - only where its packages are there

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMIT = 60.0  # seconds; reached only where something is broken


class Visitor:
    """A browser's requests, at a server whose apps are never started."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self.address = client, address
        self.base = address.split("/?")[0]

    async def get(self, path: str, **headers: str) -> Any:
        return await self._client.get(f"{self.base}{path}", headers=headers, allow_redirects=False)

    async def enter(self) -> str:
        """Come in with the token; the folder where the app is."""
        answer = await self.get(self.address.removeprefix(self.base))
        assert answer.status == 303
        return str(answer.headers["Location"])


@asynccontextmanager
async def visiting() -> AsyncIterator[Visitor]:
    from aiohttp import web

    listening = listen(Address("127.0.0.1", 0))
    serving = server.Server((sys.executable, "-c", ""), "Engram · <s>", listening)
    runner = web.AppRunner(serving.app(), access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    try:
        jar = aiohttp.CookieJar(unsafe=True)  # it keeps cookies of addresses without a name, as browsers do
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            yield Visitor(client, serving.access.address)
    finally:
        await runner.cleanup()


async def test_the_token_works_once_and_then_a_cookie_admits() -> None:
    async with visiting() as visitor:
        for path in ("/", "/?token=", "/?token=wrong", "/static/js/textual.js", "/ws"):
            assert (await visitor.get(path)).status == 403, path
        root = await visitor.enter()
        page = await visitor.get(root)
        assert page.status == 200
        text = await page.text()
        assert "Engram · &lt;s&gt;" in text
        assert f'"{visitor.base.replace("http", "ws")}{root}ws"' in text
        assert "https:" not in text  # nothing is fetched from elsewhere
        assert (await visitor.get(f"{root}static/js/textual.js")).status == 200
        assert (await visitor.get(visitor.address.removeprefix(visitor.base))).status == 403


async def test_the_cookie_is_for_this_server_and_no_script_or_other_site() -> None:
    async with visiting() as visitor:
        answer = await visitor.get(visitor.address.removeprefix(visitor.base))
        cookie = answer.cookies["engram"]
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
        assert cookie["path"] == answer.headers["Location"] != "/"
        assert cookie.value not in visitor.address
        async with aiohttp.ClientSession() as stranger:
            for path in ("", "ws", "static/js/textual.js"):
                assert (await stranger.get(f"{visitor.base}{cookie['path']}{path}")).status == 403
                wrong = {"Cookie": "engram=guess"}
                assert (
                    await stranger.get(f"{visitor.base}{cookie['path']}{path}", headers=wrong)
                ).status == 403


async def test_a_foreign_host_name_that_resolves_here_is_refused() -> None:
    async with visiting() as visitor:
        port = visitor.base.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "127.0.0.1"):
            token = visitor.address.removeprefix(visitor.base)
            assert (await visitor.get(token, Host=host)).status == 421, host  # and the token is not spent
        root = await visitor.enter()
        assert (await visitor.get(root, Host=f"evil.example:{port}")).status == 421
        assert (await visitor.get(f"{root}ws", Host=f"evil.example:{port}")).status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{host}", ""]
)
async def test_another_sites_page_opens_no_connection_even_with_the_cookie(origin: str) -> None:
    async with visiting() as visitor:
        root = await visitor.enter()
        host = visitor.base.removeprefix("http://")
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
        named = {"Origin": origin.format(host=host)} if origin else {}
        answer = await visitor.get(f"{root}ws", **upgrade, **named)
        assert answer.status == 403


async def test_every_response_forbids_foreign_content() -> None:
    async with visiting() as visitor:
        root = await visitor.enter()
        for path in ("/", root, f"{root}static/css/xterm.css", f"{root}nothing"):
            headers = (await visitor.get(path)).headers
            policy = headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")


def pinned(path: str) -> int:
    with engram.open(path, session="t") as store:
        return [shown.lore.pinned for shown in store.list().lore].count(True)


@asynccontextmanager
async def served(path: str, folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """`engram tui --web` as a process, and the address that it says."""
    command = ("-m", "engram", "tui", "--web", "--no-open", "--port", "0", "--store", path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=folder, stdin=subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        line = (await asyncio.wait_for(process.stderr.readline(), LIMIT)).decode()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, line
        yield process, found[0]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Screen:
    """A page's connection: what the app draws, and keys for it."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.drawn = ""

    async def shows(self, *texts: str) -> None:
        async with asyncio.timeout(LIMIT):
            while not all(text in re.sub(r"\x1b\[[0-9;?<>=:]*[ -/]*[@-~]", "", self.drawn) for text in texts):
                message = await self.socket.receive()
                assert message.type is aiohttp.WSMsgType.BINARY, (message, self.drawn[-2000:])
                self.drawn += message.data.decode("utf-8", "replace")

    async def types(self, text: str) -> None:
        await self.socket.send_json(["stdin", text])


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no signal that stands for Ctrl-C of another process"
)
async def test_a_page_drives_an_app_of_its_own_and_ctrl_c_ends_both(path: str, tmp_path: Path) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with served(path, tmp_path) as (process, address), aiohttp.ClientSession(cookie_jar=jar) as client:
        page = await client.get(address)
        socket_address = re.findall(r'"(ws://\S+)"', await page.text())[0]
        origin = address.split("/?")[0]
        async with client.ws_connect(f"{socket_address}?width=100&height=30", origin=origin) as socket:
            screen = Screen(socket)
            await screen.shows("2 entries", "Money is stored")
            await socket.send_str("[")  # of no app's page: that page's connection alone ends
            async with asyncio.timeout(LIMIT):
                while not socket.closed:
                    await socket.receive()
        async with client.ws_connect(f"{socket_address}?width=80&height=24", origin=origin) as socket:
            screen = Screen(socket)
            await screen.shows("2 entries", "Money is stored")
            await screen.types("p")
            await screen.shows("is pinned")
            children = children_of(process.pid)
            assert len(children) == 1
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), LIMIT) == 0
    assert not any(is_running(child) for child in children)
    assert pinned(path) == 1


def children_of(parent: int) -> list[int]:
    listed = subprocess.run(
        ("ps", "-A", "-o", "pid=,ppid="), capture_output=True, text=True, check=True
    ).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if int(line.split()[1]) == parent]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(
    not browser_kit.browser(), reason="no Chromium on this machine: apt install chromium-headless-shell"
)
async def test_a_real_browser_shows_the_app_and_hands_it_keys(path: str, tmp_path: Path) -> None:
    program = browser_kit.browser()
    assert program is not None
    async with (
        served(path, tmp_path) as (process, address),
        browser_kit.page(program, tmp_path / "p") as page,
    ):
        await page.tell("Network.enable")
        await page.tell("Page.navigate", url=address)
        await page.until(
            "document.body?.classList.contains('-first-byte') && document.querySelector('.xterm')"
        )
        assert "token" not in await page.value("location.href")
        assert await page.value("document.cookie") == ""
        async with asyncio.timeout(LIMIT):
            while b"2 entries" not in page.received:
                await page.until("true")
            await page.press("p")
            while b"is pinned" not in page.received:
                await page.until("true")
        assert pinned(path) == 1
        await page.press("q")
        await page.until("document.body.classList.contains('-closed')")
        assert "The app has ended." in await page.value("document.body.innerText")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), LIMIT) == 0


def test_without_the_extra_it_says_what_to_install(path: str) -> None:
    with mock.patch.dict(sys.modules, {"textual_serve.app_service": None}):
        done = cli("tui", "--web", "--store", path)
    assert (done.code, "pip install 'engram-lore[web]'" in done.err) == (2, True)


@pytest.mark.parametrize("options", [("--port", "0"), ("--no-open",)])
def test_options_of_the_server_require_the_server(path: str, options: tuple[str, ...]) -> None:
    done = cli("tui", *options, "--store", path)
    assert (done.code, "--web" in done.err) == (2, True)


def test_a_port_in_use_is_reported(path: str) -> None:
    with listen(Address("127.0.0.1", 0)) as taken:
        done = cli("tui", "--web", "--no-open", "--port", str(taken.getsockname()[1]), "--store", path)
    assert (done.code, "Choose another with --port." in done.err) == (1, True)
