"""Hostile files in the lore folder are reported and skipped; other lore is recalled, and no file is lost."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import open_test_store, variables
from effort import sampled
from forked_kit import forked
from hostile_kit import CORPUS, ESCAPES, check_result, cli, problems, write_raw

from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ID = "01JD6TQ8XW9YV3N5K7P2M4R6ST"
COMMANDS = (
    ("query", "hostile note"),
    ("list",),
    ("status",),
    ("export",),
    ("adopt",),
    ("doctor",),
    ("reindex", "--rebuild"),
)
LINK = "this is a symbolic link"


def fields(lines: str, body: str = "A hostile note.") -> str:
    return f"---\nid: {ID}\ncategory: FACT\n{lines}\n---\n\n{body}\n"


def all_commands(root: Path, commands: Sequence[tuple[str, ...]] = COMMANDS) -> None:
    """Run every command that reads the folder, also without an index, and the API."""
    for command in commands:
        said = cli(*command, cwd=root)
        assert said.code in (0, 1), said
        if command != ("doctor",):
            check_result(said, 0)
    with open_test_store(root) as engram:
        assert engram.query("idempotent queue consumer", strategy="scan").lore


def bound_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)  # the name stays when the socket is closed
    finally:
        os.chdir(here)


THINGS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "pipe": (lambda lore: os.mkfifo(lore / "y.md"), "lore/y", "not a regular file"),
    "socket": (lambda lore: bound_socket(lore / "y.md"), "lore/y", "not a regular file"),
    "link to a file outside": (lambda lore: (lore / "y.md").symlink_to("/etc/passwd"), "lore/y", LINK),
    "link to a folder outside": (lambda lore: (lore / "sub").symlink_to("/etc"), "lore/sub", LINK),
    "link to a device": (lambda lore: (lore / "y.md").symlink_to("/dev/zero"), "lore/y", LINK),
    "link to nothing": (lambda lore: (lore / "y.md").symlink_to("/no/such"), "lore/y", LINK),
    "link to itself": (lambda lore: (lore / "loop").symlink_to("loop"), "lore/loop", LINK),
    "link to the folder above": (lambda lore: (lore / "up").symlink_to(".."), "lore/up", LINK),
    "large file": (lambda lore: (lore / "y.md").write_bytes(b"word " * 2_000_000), "lore/y", "10,000,000 bytes"),
    "name of bytes": (lambda lore: write_raw(lore.parent, b"bad\xff.md"), "lore/bad?", "not valid UTF-8"),
    "folder name of bytes": (lambda lore: write_raw(lore.parent, b"bad\xff/in.md"), "lore/bad?", "not valid UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "where", "message"), THINGS.values(), ids=THINGS)
def test_a_file_that_is_no_entry_is_reported_and_skipped(
    root: Path, make: Callable[[Path], object], where: str, message: str
) -> None:
    make(root / "lore")
    all_commands(root)
    assert message in problems(root)[where]


def test_a_device_is_not_opened(root: Path) -> None:
    try:
        os.mknod(root / "lore" / "y.md", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    all_commands(root)
    assert "not a regular file" in problems(root)["lore/y"]


def test_a_folder_named_like_a_file_is_a_folder(root: Path) -> None:
    write_raw(root, "x.md/y.md/z.md", "A hostile note in x.md/y.md.\n")
    all_commands(root)
    assert "in x.md/y.md" in cli("query", "hostile note", cwd=root).out
    assert not problems(root)


ODD_NAMES = [
    "a\nb.md",
    "q\"uo'te.md",
    "ünï日本.md",
    "x" * 252 + ".md",
    "\x1b[31mred.md",
    "-dash.md",
    "\u202e.md",
    " .md",
    "a:b?.md",
    "back\\slash.md",
    "*.md",
    "%s.md",
    "$(id).md",
    "nl\ndir/in.md",
    "CON.md",
    "tab\t.md",
    "L1.md",
]


def test_files_of_any_name_are_read(root: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        write_raw(root, name, f"Hostile name note number {number}.\n")
    all_commands(root)
    assert cli("list", "--json", cwd=root).json["total"] == len(ODD_NAMES) + 1
    assert not problems(root)
    check_result(forked("list", "--all", cwd=root), 0)
    check_result(forked("query", "hostile name note", cwd=root), 0)


@pytest.mark.slow
def test_folders_300_deep_are_read_and_those_too_deep_for_the_system_reported(root: Path) -> None:
    script = """
import os
for level in range(900):
    os.mkdir("deep!")
    os.chdir("deep!")
    if level == 299:
        open("note.md", "w").write("A hostile note far down.")
"""
    subprocess.run([sys.executable, "-c", script], cwd=root / "lore", check=True)
    try:
        assert "far down" in check_result(cli("query", "hostile note far down", cwd=root), 0).out
        found = problems(root)
        assert len(found) == 1
        assert "File name too long" in next(iter(found.values()))
        check_result(cli("reindex", "--rebuild", cwd=root), 0)
    finally:
        subprocess.run(
            ["rm", "-rf", str(root / "lore" / "deep!")], check=True
        )  # Python's own recurses too deeply


@pytest.mark.parametrize(
    "times",
    [(253_402_300_800, 253_402_400_799), (-99_999_999_999, -99_999_999_999), (2**33, 2**34), (-1, -1)],
    ids=["10000", "-1199", "2514", "1969"],
)
def test_files_and_folders_of_any_date_are_read(root: Path, times: tuple[int, int]) -> None:
    path = write_raw(root, "odd/y.md", "A hostile note of another time.\n")
    try:
        os.utime(path, times)
        os.utime(path.parent, times)
    except (OverflowError, OSError):
        pytest.skip("this file system has no such times")
    all_commands(root)
    assert (
        "another time" in cli("query", "hostile note of another time", "--min-confidence", "0", cwd=root).out
    ), "it has faded since"


FIELDS = {
    "year 1": ("created_at: 0001-01-01T00:00:00Z\nupdated_at: 0001-01-01\nlast_validated: 0001-01-01", ""),
    "expired in year 1": ("expires_at: 0001-01-01", ""),
    "year 9999": ("created_at: 9999-12-31T23:59:59Z\nupdated_at: 9999-12-31T23:59:59.999Z\nexpires_at: 9999-12-31", ""),
    "validated in year 9999": ("last_validated: 9999-12-31", ""),
    "year 99999": ("created_at: 99999-01-01", "created_at must be a time"),
    "before year 1": ("created_at: 0001-01-01T00:00:00+14:00", "created_at must be a time"),
    "after year 9999": ("created_at: 9999-12-31T23:59:59-14:00", "created_at must be a time"),
    "nan": ("confidence: nan", "confidence must be a number"),
    "inf": ("confidence: inf", "confidence must be a number"),
    "1e309": ("confidence: 1e309", "confidence must be a number"),
    "negative": ("confidence: -0.1", "confidence must be a number"),
    "importance": ("importance: 1e309", "importance must be a number"),
    "large prior": ("prior: 999999999999999999", ""),
    "small prior": ("prior: -999999999999999999.9\nconfidence: 1", ""),
    "many votes": ("votes: {A: {up: 999999999999999, down: 999999999999999, n: 999999999999999}}", ""),
    "more votes": ("votes: {A: {up: 9999999999999999}}", "votes must be made of whole numbers"),
    "escapes": ('tags: ["\\e[31m"]\nagent: "\\e]0;x\\x07\\x9b"\ncontext: "\\u202e"', ""),
    "its own relation": (f"relations: [{{kind: supersedes, id: {ID}}}]\nmerged_from: [{ID}]", ""),
    "late relation": ("relations: [{kind: see_also, id: 7ZZZZZZZZZZZZZZZZZZZZZZZZZ}]", "is not an entry id"),
    "two keys": ("agent: a\nagent: b", "the key 'agent' appears twice"),
    "alias bomb": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "an anchor or alias"),
    "5,000 brackets": ("a: " + "[" * 5000, "nested deeper than 8 levels"),
    "5,000 braces": ("a: " + "{" * 5000, "not a plain word"),
    "30,000 brackets": ("a: " + "[" * 30_000, "at most 16,384 are read"),
    "5,000 tags": ("tags: [" + ", ".join(f"t{number}" for number in range(5000)) + "]", "at most 16,384 are read"),
    "300 tags": ("tags: [" + ", ".join(f"t{number}" for number in range(300)) + "]", "too many"),
}  # fmt: skip


@sampled(("lines", "message"), FIELDS.values(), ids=FIELDS, everyday=8)
def test_hostile_fields_are_read_or_reported(root: Path, lines: str, message: str) -> None:
    path = write_raw(root, "y.md", fields(lines))
    raw = path.read_bytes()
    all_commands(root, commands=(("query", "hostile note"), ("export",)))
    assert message in problems(root).get("lore/y", "")
    assert path.read_bytes() == raw
    if message:
        assert "lore/y" in problems(root)
    else:
        check_result(cli("show", ID, cwd=root), 0)
        shown = check_result(cli("show", ID, "--json", cwd=root), 0).json["lore"]
        assert all(len(shown[key]) >= 20 for key in ("created_at", "updated_at"))
        check_result(cli("feedback", "--helpful", ID, cwd=root), 0)
        check_result(cli("show", ID, cwd=root), 0)


def test_one_of_two_files_with_the_same_id_is_reported(root: Path) -> None:
    known = next(path for path in (root / "lore").rglob("*.md"))
    write_raw(root, "zz.md", known.read_text().replace("Queue", "Twin"))
    all_commands(root)
    assert "another file already has the id" in problems(root)["lore/zz"]


@pytest.mark.parametrize(
    ("lore_id", "readable"),
    [
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", False),
        ("76EZ91ZPZZZZZZZZZZZZZZZZZZ", True),
        ("76EZ91ZQ000000000000000000", False),
        ("0" * 26, True),
    ],
)
def test_an_id_of_any_time_is_read_or_reported(root: Path, lore_id: str, readable: bool) -> None:
    write_raw(root, "y.md", f"---\nid: {lore_id}\n---\nA hostile note.\n")
    all_commands(root)
    assert ("lore/y" in problems(root)) is not readable
    said = cli("show", lore_id, cwd=root)
    assert check_result(said, said.code).code == (0 if readable else 3)


def test_all_files_of_the_corpus_together_are_handled(root: Path) -> None:
    """All small hostile files together, with those of the codec's corpus; none hides another."""
    files = [*CORPUS.glob("*.md"), *(CORPUS.parent / "lore").glob("*.md")]
    assert len(files) > 40  # the corpus is not empty
    for file in files:
        write_raw(root, f"corpus/{file.parent.name}-{file.name}", file.read_bytes())
    check_result(cli("reindex", cwd=root), 0)
    total = cli("list", "--json", "--all", cwd=root).json["total"]
    assert total + len(problems(root)) == len(files) + 1
    for command in (("adopt",), ("list", "--all"), ("export",), ("query", "hostile note")):
        check_result(cli(*command, cwd=root), 0)
    check_result(forked("list", "--all", cwd=root), 0)


def test_a_linked_lore_folder_is_refused(root: Path, tmp_path: Path) -> None:
    """Otherwise Engram would write outside the store."""
    outside = tmp_path / "outside"
    (root / "lore").rename(outside)
    (root / "lore").symlink_to(outside)
    for command in (
        ("list",),
        ("query", "idempotent"),
        ("record", "text", "-c", "fact"),
        ("export",),
        ("config",),
        ("init", str(root)),
    ):
        assert "is a symbolic link" in check_result(cli(*command, cwd=root), 2).err
    assert len([*outside.rglob("*.md")]) == 1
    (root / "lore").unlink()
    outside.rename(root / "lore")


def test_a_lore_folder_that_is_a_file_is_reported(root: Path) -> None:
    (root / "lore").rename(root / "kept")
    (root / "lore").write_text("no folder")
    assert "this is not a folder" in problems(root)["lore"]
    check_result(cli("query", "idempotent", cwd=root), 0)
    check_result(cli("record", "text", "-c", "fact", cwd=root), 1)
    (root / "lore").unlink()
    (root / "kept").rename(root / "lore")


NOBODY = """
    import os, sys
    import engram
    from engram.cli.main import main
    os.environ["ENGRAM_BACKGROUND"] = "inline"
    os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = sys.argv[2]
    commands = ["query", "idempotent queue consumer"], ["doctor"], ["export"], ["import", sys.argv[3]]
    for command in (["record", "Warm up.", "-c", "fact"], *commands):
        main([*command, "--store", sys.argv[2]])  # loads every module needed: Python may be in root's home
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    print("=====", flush=True)
    for command in commands:
        print("code", main([*command, "--store", sys.argv[1]]), flush=True)
"""


def test_unreadable_files_are_reported(root: Path, tmp_path: Path) -> None:
    """In a process that is not root, as root may read anything."""
    closed = [write_raw(root, "closed.md"), write_raw(root, "shut/in.md").parent]
    notes = tmp_path / "notes"
    (notes / "shut").mkdir(parents=True)
    (notes / "closed.md").write_text("A note.")
    (notes / "open.md").write_text("An open note, to be imported.")
    closed += [notes / "closed.md", notes / "shut"]
    other = tmp_path / "other"
    shutil.copytree(root, other)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", root, notes, other], check=True)
        for place in (tmp_path, *tmp_path.parents[:3]):
            place.chmod(0o755)
    for path in closed:
        path.chmod(0)
    try:
        command = [
            sys.executable,
            "-c",
            "\n".join(line[4:] for line in NOBODY.split("\n")),
            str(root),
            str(other),
            str(notes),
        ]
        done = subprocess.run(command, env=variables(), capture_output=True, check=False, timeout=60)
    finally:
        for path in closed:
            path.chmod(0o755)
    said, err = done.stdout.decode().split("=====\n")[1], done.stderr.decode()
    assert "Traceback" not in err, err
    assert not err, err
    assert said.count("code 0") == 3, said
    assert said.count("code 1") == 1, said
    assert "make every handler idempotent" in said
    assert (
        "lore/closed.md: No permission to read" in said.replace(str(root) + "/", "")
        or "No permission to read" in said
    )
    assert "lore/shut: this folder cannot be read: Permission denied" in said
    assert "shut: this folder cannot be read" in said.split("Imported")[0]
    assert "Imported 1 entry" in said


def test_a_day_folder_reached_through_a_link_is_not_written_to(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with open_test_store(root) as engram:
        year = f"{engram.store.clock.now():%Y}"
        (root / "lore" / year).rename(outside / year) if (root / "lore" / year).exists() else (
            outside / year
        ).mkdir()
        (root / "lore" / year).symlink_to(outside / year)
        before = [*outside.rglob("*.md")]
        try:
            with pytest.raises(EngramError):
                engram.record("Another one.", category="FACT")
            assert [*outside.rglob("*.md")] == before
        finally:
            (root / "lore" / year).unlink()
            (outside / year).rename(root / "lore" / year)


def test_titles_with_escapes_are_harmless_in_every_command(root: Path) -> None:
    write_raw(root, "y.md", fields("", f"# {ESCAPES}\n\nA hostile note with {ESCAPES}."))
    write_raw(root, "z.md", f"# Other {ESCAPES}\n\nA hostile note.\n")
    all_commands(root)
    check_result(cli("show", ID, cwd=root), 0)
    check_result(cli("edit", ID, "--add-tag", "x", cwd=root), 0)
    check_result(cli("feedback", "--incorrect", ID, cwd=root), 0)
    check_result(cli("session", cwd=root), 0)
    check_result(cli("forget", ID, "--yes", cwd=root), 0)
