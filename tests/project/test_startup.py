"""Agents start Engram many times a session, so heavy modules must not be imported at start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Importing each takes 10 to 1,000 ms of processor time.
HEAVY = ("textual", "mcp", "git", "pydantic", "rich", "yaml", "numpy", "model2vec", "usearch")
HEAVY_OF_PYTHON = ("asyncio", "dataclasses", "logging")
FOR_WATCHING = ("inotify_simple", "ctypes")  # not needed by short-lived programs
FOR_DIGESTS = ("hashlib",)  # which loads OpenSSL

# Runs code in a fresh Python as a console script would, then reports which heavy modules it loaded.
# Modules that the environment loaded before (by a .pth file of a package) do not count.
PROBE = """
import sys
before = set(sys.modules)
code, heavy, arguments = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
sys.argv = ["engram", *arguments]
status = 0
try:
    exec(code)
except SystemExit as stopped:
    status = stopped.code or 0
loaded = [name for name in heavy if name in sys.modules and name not in before]
import json
print(json.dumps({"status": status, "loaded": loaded}), file=sys.stderr)
"""
FOR_TRAINING = ("huggingface_hub", "joblib")  # dependencies of model2vec that are not needed offline
START = "from engram.cli.main import main; raise SystemExit(main())"


def start(
    code: str, *arguments: str, heavy: tuple[str, ...] = (*HEAVY, *HEAVY_OF_PYTHON)
) -> dict[str, object]:
    """Run code in a fresh Python; return `{"status": exit status, "loaded": [heavy modules]}`."""
    command = (sys.executable, "-c", PROBE, code, " ".join(heavy), *arguments)
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )
    lines = done.stderr.splitlines()
    assert lines[-1:], done.stderr
    assert lines[-1].startswith("{"), done.stderr
    return json.loads(lines[-1])


def test_the_probe_sees_a_heavy_module() -> None:
    assert start("import numpy")["loaded"] == ["numpy"]


@pytest.mark.parametrize(
    "module", ["engram", "engram.domain.errors", "engram.domain.entry.lore", "engram.cli.main"]
)
def test_importing_stays_light(module: str) -> None:
    assert start(f"import {module}") == {"status": 0, "loaded": []}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_starting_stays_light(arguments: list[str]) -> None:
    assert start(START, *arguments) == {"status": 0, "loaded": []}


IN_A_STORE = "import os; os.chdir('work'); " + START
LESSON = "Retry the upload once: the first attempt after a deploy meets a cold cache."


@pytest.fixture
def store(home: Path) -> None:
    """Make a store with an entry, in a repository with a remote under the home folder."""
    subprocess.run(("git", "init", "-q", str(home / "work")), check=True)
    subprocess.run(("git", "init", "-q", "--bare", str(home / "hub.git")), check=True)
    remote = ("git", "-C", str(home / "work"), "remote", "add", "origin", str(home / "hub.git"))
    subprocess.run(remote, check=True)
    for arguments in (("init",), ("record", LESSON, "--category", "EDGE_CASE_DISCOVERY")):
        assert start(IN_A_STORE, *arguments)["status"] == 0


@pytest.mark.usefixtures("store")
def test_recording_stays_light() -> None:
    text = "Uploads over 5 GB need the multipart call."
    assert start(IN_A_STORE, "record", text, "--category", "FACT") == {"status": 0, "loaded": []}


@pytest.mark.usefixtures("store")
def test_a_query_stays_light_by_words_and_by_meaning() -> None:
    assert start(IN_A_STORE, "reindex")["status"] == 0
    by_words = start(IN_A_STORE, "query", "upload retry", "--strategy", "words")
    assert by_words == {"status": 0, "loaded": []}
    assert start(IN_A_STORE, "query", "upload retry") == by_words


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("code", "arguments", "works"),
    [
        (IN_A_STORE, ("reindex",), "engram"),
        (IN_A_STORE, ("query", "why is the cache cold", "--strategy", "hybrid"), "engram"),
        (IN_A_STORE, ("record", "Uploads over 5 GB need the multipart call."), "engram"),
        ("import engram.mcp.server, mcp", (), "mcp"),
        ("import sys; sys.path.insert(0, 'tui'); import engram_tui.app", (), "textual"),
    ],
    ids=["reindex", "query", "record", "mcp", "app"],
)
def test_the_hub_client_is_never_loaded(code: str, arguments: tuple[str, ...], works: str) -> None:
    assert start(code, *arguments, heavy=(*FOR_TRAINING, works)) == {"status": 0, "loaded": [works]}


@pytest.mark.usefixtures("store")
def test_a_sync_imports_gitpython_only_if_git_prints_something(home: Path) -> None:
    """Git complains that the remote has no branch yet; a later push at which nobody looks is silent, as is one of nothing.

    No hook imports it, either: the background process after it syncs.

    Nor does the hook of a prompt digest files (with hashlib), as long as none was written in the two seconds before the
    index last looked: such a file is read again, since its time would not show another change. Agents ask minutes after
    the last entry, so that is the state to judge. The test makes the files older and the index look again, instead of
    waiting. A hook that digested old files, too, would still fail here.
    """
    assert "git" in start(IN_A_STORE, "sync")["loaded"]
    assert "git" not in start(IN_A_STORE, "sync")["loaded"]
    start(IN_A_STORE, "record", "The cache is cold after a deploy.")
    assert "git" not in start(IN_A_STORE, "sync")["loaded"]
    for path in (home / "work/.git/engram/worktree").rglob("*.md"):
        os.utime(path, (1.7e9, 1.7e9))
    start(IN_A_STORE, "query", "upload retry")
    for event in ("session-start", "prompt", "session-end"):
        payload = {
            "session_id": "one",
            "cwd": str(home / "work"),
            "prompt": "why does the upload retry once?",
        }
        stdin = "import io, os; os.environ['ENGRAM_HOOK_SECONDS'] = '60'; "
        stdin += f"sys.stdin = io.TextIOWrapper(io.BytesIO({json.dumps(payload).encode()!r})); "
        heavy = (*HEAVY, *HEAVY_OF_PYTHON, *FOR_WATCHING, *(FOR_DIGESTS if event == "prompt" else ()))
        loaded = start(stdin + IN_A_STORE, "hook", event, "--agent", "claude-code", heavy=heavy)["loaded"]
        assert loaded == [], event
