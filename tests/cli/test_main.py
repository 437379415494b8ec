"""The command line as a process: signals, pipes that close, streams that are missing, locales, terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, lore_files, ok, plain, process, variables
from effort import sampled

COMMAND = [sys.executable, "-m", "engram"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plain(tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    return tmp_path


# Says when it begins to wait for standard input, so that the interrupt comes neither too early nor too late.
WAITING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a script starts in the background
class Waiting:
    def __init__(self, raw):
        self.buffer, self.raw = self, raw
    def read(self):
        print("waiting", file=sys.stderr, flush=True)
        return self.raw.read()
    def isatty(self):
        return False
sys.stdin = Waiting(sys.stdin.buffer)
from engram.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def interrupted(root: Path, *arguments: str) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors of a command that waits for standard input and gets Ctrl-C instead."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", WAITING, *arguments]
    with subprocess.Popen(command, cwd=root, env=variables(), **pipes) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == b"waiting\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    return child.returncode, out, err


def test_an_interrupt_is_exit_130_one_line_and_writes_nothing(root: Path) -> None:
    code, out, err = interrupted(root, "record", "-", "-c", "fact")
    assert (code, out) == (130, b"")
    assert b"Traceback" not in err
    assert err.startswith(b"engram: Interrupted.")
    assert len(lore_files(root)) == 1


def test_an_interrupt_with_json_is_a_document(root: Path) -> None:
    code, out, err = interrupted(root, "record", "-", "-c", "fact", "--json")
    assert (code, err) == (130, b"")
    assert json.loads(out)["error"]["code"] == "interrupted"


@sampled("arguments", ["list --all", "config", "show L7 --json", "--version", "completion bash"], 2)
def test_a_reader_that_goes_away_is_no_error(root: Path, arguments: str) -> None:
    script = f"{shlex.quote(sys.executable)} -m engram {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=root, env=variables(), capture_output=True, check=False)
    assert done.stdout.strip() in (b"0", b"3")
    assert done.stderr == b""


ALL = "<&- >&- 2>&-"


@sampled(
    ("arguments", "closed"),
    [*(("query tide --json", one) for one in ("<&-", ">&-", "2>&-", ALL)), ("list", ALL), ("forget L9", ALL)],
    everyday=2,
)
def test_streams_may_be_missing(root: Path, closed: str, arguments: str) -> None:
    script = f"{shlex.quote(sys.executable)} -m engram {arguments} {closed}"
    done = subprocess.run(["bash", "-c", script], cwd=root, env=variables(), capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (3 if "L9" in arguments else 0)


def test_any_locale_will_do(root: Path) -> None:
    done = process("record", "Größe 🜁", "-c", "fact", "--json", cwd=root, LC_ALL="C")
    assert done.json["lore"]["content"] == "Größe 🜁"
    assert "Größe 🜁" in process("list", cwd=root, LC_ALL="C", PYTHONIOENCODING="ascii").out


def test_an_unexpected_error_is_a_sentence_and_shows_its_place_on_request(root: Path) -> None:
    script = (
        "import sys; import engram.usecases.lookup.listing as listing\n"
        "def fail(*a, **o): raise ZeroDivisionError('made for a test')\n"
        "listing.list_hits = fail\n"
        "from engram.cli.main import main; sys.exit(main(['list']))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=root, env=variables(), capture_output=True, check=False)
    assert done.returncode == 1
    assert b"ZeroDivisionError: made for a test" in done.stderr
    assert b"Traceback" not in done.stderr
    loud = subprocess.run(
        command, cwd=root, env=variables(ENGRAM_TRACEBACK="1"), capture_output=True, check=False
    )
    assert b"Traceback" in loud.stderr


def terminal(root: Path, *arguments: str, typed: bytes = b"", **more: str) -> tuple[int, str]:
    """Run a command at a terminal of its own; its exit code and everything the terminal showed."""
    child, screen = pty.fork()
    if child == 0:
        os.chdir(root)
        os.execve(sys.executable, [*COMMAND, *arguments], variables(TERM="xterm", **more))
    shown = b""
    if typed:
        os.write(screen, typed)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and select.select([screen], [], [], 30)[0]:
            part = os.read(screen, 65536)
            if not part:
                break
            shown += part
    except OSError:  # how Linux tells that the other side is closed
        pass
    _, status = os.waitpid(child, 0)
    os.close(screen)
    return os.waitstatus_to_exitcode(status), shown.decode()


def editor(root: Path, body: str) -> str:
    """A program that edits a file without anybody at the keyboard."""
    path = root / "editor with blank.py"
    path.write_text(
        f"import sys\npath = sys.argv[-1]\ntext = open(path, newline='').read()\n{body}\n", "utf-8"
    )
    return f"{shlex.quote(sys.executable)} '{path}'"


REPLACE = "open(path, 'w', newline='').write(text.replace({!r}, {!r}))"


def test_the_editor_changes_the_file(root: Path) -> None:
    (file,) = lore_files(root)
    before = file.read_text("utf-8")
    code, shown = terminal(root, "edit", "tide", EDITOR=editor(root, REPLACE.format("local", "solar")))
    assert code == 3, "nothing was surfaced in that session"
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, shown = terminal(root, "edit", lore_id, EDITOR=editor(root, REPLACE.format("local", "solar")))
    assert (code, "Changed" in shown) == (0, True), shown
    after = file.read_text("utf-8")
    assert after.endswith(TIDES.replace("local", "solar") + "\n")
    assert f"id: {lore_id}\n" in before
    assert f"id: {lore_id}\n" in after


@sampled(
    ("body", "code", "says"),
    [
        ("pass", 0, "Nothing was changed"),
        (REPLACE.format("category: FACT", "category: NONSENSE"), 2, "not a category"),
        (REPLACE.format(TIDES, "x" * 4001), 2, "4,001"),
        (REPLACE.format("id: 0", "id: 1"), 2, "never changes"),
        (REPLACE.format("---\n\n", "\n"), 2, "no closing"),
        (REPLACE.format("local", "solar") + "\nsys.exit(3)", 2, "ended with 3"),
    ],
    everyday=2,
)
def test_a_refused_edit_keeps_the_text_that_was_typed(root: Path, body: str, code: int, says: str) -> None:
    (file,) = lore_files(root)
    before = file.read_bytes()
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    spare = root / "spare"
    spare.mkdir()
    found, shown = terminal(
        root, "edit", lore_id, EDITOR=editor(root, body), TMPDIR=str(spare), COLUMNS="300"
    )
    assert found == code
    assert "Traceback" not in shown
    assert says in " ".join(shown.split())
    assert file.read_bytes() == before
    kept = list(spare.iterdir())
    assert len(kept) == (0 if code == 0 else 1)
    if kept:
        assert kept[0].name in shown.replace("\r\n", "")


@sampled("chosen", ["no-such-program-at-all", "'unclosed", ""])
def test_an_editor_that_cannot_be_started_is_told(root: Path, chosen: str) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    spare = root / "spare"
    spare.mkdir()
    code, shown = terminal(
        root, "edit", lore_id, EDITOR=chosen, VISUAL=chosen, PATH="/nowhere", TMPDIR=str(spare)
    )
    assert code == 2, shown
    assert "Traceback" not in shown
    assert list(spare.iterdir()) == [], "nothing was typed, so nothing is kept"


@pytest.mark.slow
def test_visual_comes_before_editor(root: Path) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, _ = terminal(
        root, "edit", lore_id, VISUAL=editor(root, REPLACE.format("local", "lunar")), EDITOR="no-such-program"
    )
    assert code == 0
    assert "lunar" in lore_files(root)[0].read_text("utf-8")


def test_forgetting_what_nothing_brings_back_asks_first(root: Path) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, shown = terminal(root, "forget", lore_id, typed=b"n\n")
    assert (code, len(lore_files(root))) == (0, 1)
    assert "[y/N]" in shown
    code, _ = terminal(root, "forget", lore_id, typed=b"y\n")
    assert (code, lore_files(root)) == (0, [])
    ok("record", QUEUE, "-c", "fact", cwd=root)
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, shown = terminal(root, "forget", lore_id, "--yes")
    assert (code, "[y/N]" in shown) == (0, False)


def test_a_terminal_gets_colours_and_its_width(root: Path) -> None:
    code, shown = terminal(root, "list", COLUMNS="60")
    assert code == 0
    assert "\x1b[2m" in shown
    assert "\x1b[" not in terminal(root, "list", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal(root, "list", "--json")[1]
