"""Full disks and closed streams: one message, exit code 1, and no existing data lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from apikit import Result, variables
from effort import sampled
from forked_kit import forked
from hostile_kit import RECALLED, check_result, cli


def limited(root: Path, most: int, *arguments: str) -> Result:
    """Run a command with a limit on the size of files, like a full disk at a chosen point."""
    return forked(*arguments, cwd=root, most_bytes=most, ENGRAM_SESSION="s1")


def files(root: Path) -> dict[str, bytes]:
    """Return all files in the store except the index."""
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file() and ".engram/" not in str(p)
    }


def test_an_entry_is_never_written_partially(root: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"content": "Row number {n} of many."}}\n' for n in range(50))
    )
    (tmp_path / "note.md").write_text("# A note\n\n" + "word " * 3000)
    before = files(root)
    lore_id = cli("list", "--json", cwd=root).json["lore"][0]["id"]
    for command in (
        ("record", "Another one, which finds no room.", "-c", "fact"),
        ("import", str(tmp_path / "rows.jsonl")),
        ("import", str(tmp_path / "note.md")),
        ("export", "-o", str(tmp_path / "all.json")),
        ("export", "--format", "markdown", "-o", str(tmp_path / "all")),
        ("config", "recall.limit", "9"),
        ("edit", lore_id, "--add-tag", "x"),
        ("feedback", "--helpful", lore_id),
    ):
        check_result(limited(root, 0, *command), 1)
        assert files(root) == before
    assert not (tmp_path / "all.json").exists()
    assert not list(tmp_path.rglob("*engram-tmp"))


@pytest.mark.parametrize(
    "command",
    [
        ("record", "Another one of some length, which finds no room.", "-c", "fact"),
        ("config", "recall.limit", "9"),
    ],
)
def test_no_file_is_written_partially(root: Path, command: tuple[str, ...]) -> None:
    before = files(root)
    check_result(limited(root, 30, *command), 1)
    assert files(root) == before


FULL = """
    mount -t tmpfs -o size=2m tmpfs "$1" && cp -r store "$1" && cd "$1/store" || exit 77
    head -c 9000000 /dev/zero > ../ballast 2>/dev/null
    python=$2
    say() { "$python" -m engram "$@" 2>>../../said/errors; echo "code $?"; }
    say query "idempotent queue consumer"
    say record "Another one of some length." -c fact
    say record "Another one of some length." -c fact
    say query "idempotent queue consumer"
    say config recall.limit 9
    say reindex --rebuild
    rm ../ballast
    say record "Room again." -c fact
    say query "idempotent queue consumer"
    say doctor
    find . -name "*.engram-tmp"
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs Linux name spaces")
def test_on_a_full_disk_lore_is_recalled_and_all_works_afterwards(root: Path, tmp_path: Path) -> None:
    """On a real file system of 2 MB, mounted only for this test."""
    for name in ("disk", "said"):
        (tmp_path / name).mkdir()
    script = textwrap.dedent(FULL)
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(tmp_path / "disk"), sys.executable],
        cwd=tmp_path, env=variables(ENGRAM_SESSION="s1"), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    if done.returncode == 77 or b"unshare" in done.stderr:
        pytest.skip("no name spaces or no right to mount here")
    said, errors = done.stdout.decode(), (tmp_path / "said" / "errors").read_text()
    assert [line for line in said.split("\n") if line.startswith("code ")] == [
        f"code {code}" for code in (0, 1, 1, 0, 1, 1, 0, 0, 0)
    ], said + errors
    assert said.count(RECALLED) == 3
    assert said.rstrip().endswith("All is well.\ncode 0")
    assert errors.count("The disk is full") == 3
    assert "Traceback" not in errors + done.stderr.decode()
    assert "should not happen" not in errors


@sampled("most", [0, 100, 5000, 50_000])
def test_all_works_after_space_was_freed(root: Path, most: int) -> None:
    for command in (("record", f"One more at {most}.", "-c", "fact"), ("reindex", "--rebuild"), ("list",)):
        assert "Traceback" not in limited(root, most, *command).err
    recorded = "".join(path.read_text() for path in root.rglob("*.md"))
    listed = check_result(cli("list", "--json", cwd=root), 0).json
    assert listed["total"] == 1 + (f"One more at {most}." in recorded)
    assert check_result(cli("doctor", cwd=root), 0).out == "All is well.\n"


@sampled("most", [100, 5000, 50_000])
def test_lore_is_recalled_if_no_index_can_be_written(root: Path, most: int) -> None:
    cli("record", "One more.", "-c", "fact", cwd=root)
    check_result(limited(root, most, "reindex", "--rebuild"), 1)
    assert RECALLED in check_result(limited(root, most, "query", "idempotent queue consumer"), 0).out


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no full device")
class TestStreams:
    @sampled(
        "command",
        [("list",), ("export",), ("query", "idempotent"), ("--version",), ("config", "--json")],
        ids=str,
        everyday=2,
    )
    def test_an_answer_that_cannot_be_written_is_told(self, root: Path, command: tuple[str, ...]) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "engram", *command],
                cwd=root,
                env=variables(),
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1), done.stderr
        assert b"No space left" in done.stderr

    def test_an_error_that_cannot_be_written_keeps_its_silence(self, root: Path) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "engram", "nonsense"],
                cwd=root,
                env=variables(),
                stderr=full,
                check=False,
                timeout=60,
            )
        assert done.returncode == 1


@sampled(
    ("closed", "command", "code"),
    [
        (0, "record - -c fact", 2),
        (0, "record -c fact", 2),
        (1, "list", 0),
        (2, "nonsense", 2),
        (2, "list", 0),
    ],
    everyday=2,
)
def test_a_closed_stream_is_handled(root: Path, closed: int, command: str, code: int) -> None:
    script = f"import os, sys; os.close({closed}); os.execv(sys.executable, [sys.executable, '-m', 'engram', *sys.argv[1:]])"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()],
        cwd=root,
        env=variables(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done
    assert b"Traceback" not in done.stderr
