"""Hostile imports and exports: bad items are reported, good ones imported, and nothing is overwritten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import Result, open_test_store
from effort import sampled
from forked_kit import forked
from hostile_kit import CORPUS, ESCAPES, check_result, cli, write_raw

from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = sorted([*CORPUS.glob("*.json"), *CORPUS.glob("*.jsonl")])
GOOD = '{"content": "A good row beside the bad ones."}\n'


def imported(root: Path, path: Path, *options: str, run: Callable[..., Result] = cli) -> dict[str, Any]:
    """Run an import and return its report; exit code 1 means that it had only problems."""
    said = run("import", str(path), "--json", *options, cwd=root)
    done: dict[str, Any] = check_result(said._replace(code=0), 0).json
    only_problems = bool(done["problems"]) and not done["imported"] and not done["skipped"]
    assert said.code == int(only_problems)
    return done


@sampled("path", ROWS, 3, ids=lambda path: path.name)
def test_rows_of_the_corpus_are_imported_or_reported(root: Path, path: Path) -> None:
    once = imported(root, path)
    assert once["imported"] + once["skipped"] + len(once["problems"]) > 0
    assert all(problem["message"] and problem["path"].startswith(path.name) for problem in once["problems"])
    again = imported(root, path)
    assert again["imported"] == 0
    assert cli("list", "--all", "--json", cwd=root).json["total"] == once["imported"] + 1
    check_result(cli("list", "--all", cwd=root), 0)
    check_result(cli("export", cwd=root), 0)


LARGE_ROWS = {
    "30,000 brackets": ("[" * 30_000 + "\n" + GOOD, 1, "nested too deeply"),
    "30,000 objects": ('{"a":' * 30_000 + "\n" + GOOD, 1, "nested too deeply"),
    "a line of 10 MB": ('{"content": "' + "word " * 2_000_000 + '"}\n' + GOOD, 1, "10,000,000 characters"),
    "a million NUL": ("\0" * 1_000_000 + "\n" + GOOD, 0, "not JSON"),
    "many bad rows": ("{}\n" * 5000 + GOOD, 0, "too many rows or problems"),
    "a million empty lines": ("\n" * 1_000_000 + GOOD, 1, ""),
}


@sampled(("text", "taken", "message"), LARGE_ROWS.values(), 3, ids=list(LARGE_ROWS))
def test_large_rows_are_reported_and_the_others_imported(
    root: Path, tmp_path: Path, text: str, taken: int, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    done = imported(root, path, run=forked)
    assert done["imported"] == taken
    assert any(message in problem["message"] for problem in done["problems"]) or not message


NOTES = {
    "hashes": "#" * 300_000,
    "fences": "```\n" * 80_000,
    "deep list": "".join(" " * level + "- x\n" for level in range(900)),
    "headings": "".join("#" * (number % 6 + 1) + f" h{number}\n\ntext\n\n" for number in range(15_000)),
    "quotes": "> " * 150_000 + "x",
    "one word": "x" * 300_000,
    "table": "|" * 150_000 + "\n|-|\n" + "|" * 150_000,
    "blank": "\n" * 500_000 + "x",
    "marks": "*_`[(" * 60_000,
    "html": "<div>" * 60_000,
    "brackets above": "---\na: " + "[" * 14_000 + "\n---\nBody of a note.\n",
    "an entry of the year 10000": "---\nid: 7ZZZZZZZZZZZZZZZZZZZZZZZZZ\n---\nBody of a note.\n",
}


@sampled("text", NOTES.values(), 2, ids=list(NOTES))
def test_a_hostile_document_becomes_lore(root: Path, tmp_path: Path, text: str) -> None:
    """Also one larger than an entry's 256 KiB, which import splits."""
    path = tmp_path / "note.md"
    path.write_text(text)
    done = imported(root, path, "--dry-run")
    assert (done["imported"] > 0, done["problems"]) == (True, [])


def test_a_document_of_2_mb_is_split_and_written(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Long\n\n" + ("word " * 99 + "\n\n") * 4000)
    done = imported(root, path, run=forked)
    assert done["imported"] > 400
    assert done["problems"] == []
    assert imported(root, path)["imported"] == 0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (bytes(range(256)) * 100, "not UTF-8"),
        (b"x" * 11_000_000, "11,000,000 bytes"),
        (b"a\0b", "NUL"),
    ],
    ids=["empty", "blank", "binary", "11 MB", "nul"],
)
def test_files_that_are_no_documents_are_reported(
    root: Path, tmp_path: Path, raw: bytes, message: str
) -> None:
    (tmp_path / "note.md").write_bytes(raw)
    done = imported(root, tmp_path / "note.md")
    assert done["imported"] == 0
    assert message in done["problems"][0]["message"]
    assert cli("import", str(tmp_path / "note.md"), cwd=root).out.startswith("  note.md: ")


def test_the_good_notes_in_a_folder_of_hostile_files_are_imported(root: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "folder.md").mkdir(parents=True)
    (notes / "good.md").write_text("A good note among bad ones.")
    (notes / "link.md").symlink_to("/etc/passwd")
    (notes / "etc").symlink_to("/etc")
    (notes / "up").symlink_to("..")
    os.mkfifo(notes / "pipe.md")
    (notes / "large.md").write_bytes(b"x" * 11_000_000)
    (notes / "binary.md").write_bytes(b"\xff\xfe\0")
    (notes / "\x1b[31m\n.md").write_text("A note whose name is hostile.")
    (notes / os.fsdecode(b"bad\xff.md")).write_text("A note whose name is no text.")
    (notes / "later.md").write_text("A note of the year ten thousand.")
    try:
        os.utime(notes / "later.md", (253_402_300_800, 253_402_400_799))
    except (OverflowError, OSError):
        pytest.skip("this file system has no such times")
    said = check_result(forked("import", str(notes), cwd=root), 0)
    assert "Imported 4 entries" in said.out
    named = {line.split(":")[0].strip() for line in said.out.splitlines() if ".md: " in line}
    assert named == {"pipe.md", "large.md", "binary.md"}
    check_result(cli("list", cwd=root), 0)
    assert "root:" not in cli("export", cwd=root).out
    assert imported(root, notes)["imported"] == 0


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/dev/zero", 2),
        ("/no/such", 3),
        ("", 3),
        (ESCAPES, 3),
        ("\udcff\udcfe", 3),
        ("x" * 10_000, 3),
        ("/proc/self/mem", 2),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_a_path_with_nothing_to_import_is_refused(root: Path, path: str, code: int) -> None:
    check_result(cli("import", path, cwd=root), code)
    with open_test_store(root) as engram, pytest.raises(EngramError):
        engram.import_markdown(path)


def test_pipes_and_devices_named_like_notes_do_not_block(root: Path, tmp_path: Path) -> None:
    for name in ("pipe.jsonl", "pipe.md"):
        os.mkfifo(tmp_path / name)
        (tmp_path / f"zero-{name}").symlink_to("/dev/zero")
    for name in ("pipe.jsonl", "zero-pipe.jsonl"):
        assert "not a regular file" in check_result(forked("import", str(tmp_path / name), cwd=root), 1).err
    for name in ("pipe.md", "zero-pipe.md"):
        assert "not a regular file" in forked("import", str(tmp_path / name), cwd=root).out


def test_an_explicitly_named_link_is_imported(root: Path, tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("A note behind a link.")
    (tmp_path / "link.md").symlink_to("real.md")
    assert "Imported 1 entry" in check_result(cli("import", str(tmp_path / "link.md"), cwd=root), 0).out


def test_a_row_too_large_for_a_file_does_not_stop_the_others(root: Path, tmp_path: Path) -> None:
    tags = ", ".join(f'"{number:0>190}"' for number in range(150))
    (tmp_path / "rows.jsonl").write_text(f'{{"content": "Many tags.", "tags": [{tags}]}}\n{GOOD}')
    done = imported(root, tmp_path / "rows.jsonl")
    assert done["imported"] == 1
    assert "16,384" in done["problems"][0]["message"]


class TestExport:
    """Check that an export replaces only exports."""

    @pytest.mark.parametrize("place", [".engram.toml", "lore/x.json", "lore", ".git/config"])
    def test_into_the_store_itself_is_refused(self, root: Path, place: str) -> None:
        check_result(cli("export", "-o", str(root / place), cwd=root), 2)
        (root.parent / "alias").symlink_to(root)
        check_result(cli("export", "-o", str(root.parent / "alias" / place), cwd=root), 2)

    def test_to_a_pipe_device_folder_or_below_a_file_is_refused(self, root: Path, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "file").write_text("kept")
        for place in ("pipe", "file/x", "file/x/y", "."):
            check_result(forked("export", "-o", str(tmp_path / place), cwd=root), 2)
        check_result(cli("export", "--format", "markdown", "-o", str(tmp_path / "file"), cwd=root), 2)
        assert (tmp_path / "pipe").is_fifo()
        assert (tmp_path / "file").read_text() == "kept"

    def test_through_a_link_goes_where_it_leads(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "real.json").write_text("old")
        (tmp_path / "link.json").symlink_to("real.json")
        check_result(cli("export", "-o", str(tmp_path / "link.json"), cwd=root), 0)
        assert (tmp_path / "link.json").is_symlink()
        assert "idempotent" in (tmp_path / "real.json").read_text()

    def test_of_markdown_onto_other_files_leaves_them(self, root: Path, tmp_path: Path) -> None:
        path = next(root.glob("lore/*/*/*/*.md")).relative_to(root)
        target = tmp_path / "out" / path
        target.parent.mkdir(parents=True)
        target.write_text("another")
        check_result(cli("export", "--format", "markdown", "-o", str(tmp_path / "out"), cwd=root), 1)
        assert target.read_text() == "another"

    def test_escapes_come_back_the_same(self, root: Path, tmp_path: Path) -> None:
        check_result(cli("record", ESCAPES, "-c", "fact", cwd=root), 0)
        for kind in ("json", "jsonl"):
            out = check_result(forked("export", "--format", kind, cwd=root), 0).out
            assert "\x9b" not in out
            (tmp_path / f"all.{kind}").write_text(out)
            with open_test_store(tmp_path / kind) as other:
                other.import_markdown(str(tmp_path / f"all.{kind}"))
                assert ESCAPES in [shown.lore.content for shown in other.list().lore]


def test_a_markdown_file_in_the_lore_folder_is_exported_byte_for_byte(root: Path, tmp_path: Path) -> None:
    raw = f"# {ESCAPES}\r\n\r\nA hostile note.\r\n".encode()
    write_raw(root, "y.md", raw)
    check_result(cli("export", "--format", "markdown", "-o", str(tmp_path / "out"), cwd=root), 0)
    assert (tmp_path / "out" / "lore" / "y.md").read_bytes() == raw
