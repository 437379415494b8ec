"""Options of a server: the proxies it trusts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from apikit import cli, dedicated, make_plain_store, variables
from effort import sampled
from http_kit import get


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_plain_store(tmp_path_factory.mktemp("flood") / "store")


@pytest.mark.slow
@sampled("command", ["serve", "mcp --http"])
def test_proxies_are_named_on_the_command_line(tmp_path: Path, command: str) -> None:
    root = dedicated(tmp_path / "store")
    arguments = [*command.split(), "--port", "0", "--rate", "4", "--trust-proxy", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "engram", *arguments, "--store", str(root)],
        env=variables(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        announced = process.stderr.readline()
        url, place = announced.split()[1], announced.rpartition(": ")[2].strip()
        key = {"authorization": f"Bearer {Path(place).read_text().strip()}"}
        found = [
            get(url, headers={**key, "x-forwarded-for": f"203.0.113.{n}"}).status_code for n in (1, 1, 2, 2)
        ]
        assert [status == 429 for status in found] == [False, True, False, True]
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.5/8", "*", ""])
def test_a_proxy_that_is_not_an_address_is_refused(root: Path, proxy: str) -> None:
    for command in (["serve"], ["mcp", "--http"]):
        refused = cli(*command, "--trust-proxy", proxy, cwd=root)
        assert (refused.code, "neither an IP address nor a network" in refused.err) == (2, True)
