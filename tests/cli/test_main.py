"""The command line as a process: signals, closed pipes and streams, locales, terminals."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from apikit import QUEUE, cli, lore_files, ok, run_process, variables
from effort import sampled

from tests.cli.pty_kit import terminal

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
def test_a_closed_pipe_is_no_error(root: Path, arguments: str) -> None:
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
def test_commands_run_with_closed_standard_streams(root: Path, closed: str, arguments: str) -> None:
    script = f"{shlex.quote(sys.executable)} -m engram {arguments} {closed}"
    done = subprocess.run(["bash", "-c", script], cwd=root, env=variables(), capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (3 if "L9" in arguments else 0)


def test_output_is_utf8_in_any_locale(root: Path) -> None:
    done = run_process("record", "Größe 🜁", "-c", "fact", "--json", cwd=root, LC_ALL="C")
    assert done.json["lore"]["content"] == "Größe 🜁"
    assert "Größe 🜁" in run_process("list", cwd=root, LC_ALL="C", PYTHONIOENCODING="ascii").out


def test_an_unexpected_error_is_a_sentence_and_a_traceback_on_request(root: Path) -> None:
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


def test_forget_asks_before_deleting_what_cannot_be_restored(root: Path) -> None:
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


def test_a_script_deletes_without_asking_and_undo_suggests_git(root: Path) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    ok("forget", lore_id, cwd=root)
    assert lore_files(root) == []
    assert "git init" in cli("undo", cwd=root).err


def test_review_asks_before_deleting_what_cannot_be_restored(root: Path) -> None:
    (root / "lore/thanks.md").write_text("Thank you very much!\n", "utf-8")
    item = ok("review", "--kind", "junk", "--json", cwd=root).json["items"][0]["id"]
    code, shown = terminal(root, "review", "reject", item, typed=b"n\n")
    assert (code, "lore/thanks.md? Engram does not commit there" in shown) == (0, True)
    assert (root / "lore/thanks.md").exists()
    terminal(root, "review", "reject", item, typed=b"y\n")
    assert not (root / "lore/thanks.md").exists()


def test_a_terminal_gets_colours_and_its_width(root: Path) -> None:
    code, shown = terminal(root, "list", COLUMNS="60")
    assert code == 0
    assert "\x1b[2m" in shown
    assert "\x1b[" not in terminal(root, "list", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal(root, "list", "--json")[1]
