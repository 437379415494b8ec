"""Helpers for tests of hostile input: texts, files, and invariants of a store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apikit import Result, cli, ok, run_process

from engram.domain.text.safe_text import safe_text

CORPUS = Path(__file__).parents[1] / "data/corpus" / "hostile"
ESCAPES = "\x1b[31mred\x1b[0m \x07 \x9b31m \u202ertl \U000e0041tag"
BAD_BYTES = os.fsdecode(b"bad \xff\xfe bytes")
RECALLED = "make every handler idempotent"


def known_lore(root: Path) -> dict[str, bytes]:
    """Return the files of the template, by path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.glob("lore/2*/*/*/*.md"))}


@contextmanager
def copy_to_harm(template: Path, folder: Path) -> Iterator[Path]:
    """Yield a copy of a store, and check at the end that its lore is unchanged."""
    copy = folder / "store"
    shutil.copytree(template, copy)
    before = known_lore(copy)
    assert before
    yield copy
    assert known_lore(copy).items() >= before.items(), "a file was lost or changed"


def check_result(result: Result, code: int) -> Result:
    """Check a result: its exit code, a single message, and no terminal escapes; return it."""
    assert result.code == code, result
    for words in ("Traceback", "should not happen", "Exception ignored"):
        assert words not in result.err + result.out[:1000], result
    assert safe_text(result.out, lines=True).replace("\ufffd", "") == result.out.replace("\ufffd", "")
    assert safe_text(result.err, lines=True).replace("\ufffd", "") == result.err.replace("\ufffd", "")
    if code:
        assert 1 <= result.err.count("\n") <= 2, result
        assert result.err.startswith("engram: "), result
        assert len(result.err) < 3000
    return result


def problems(root: Path) -> dict[str, str]:
    """Return the problems with files found by `engram doctor`, by path without line."""
    found = cli("doctor", "--json", cwd=root).json["findings"]
    return {
        one["where"].split(".md:")[0].removesuffix(".md"): one["message"]
        for one in found
        if one["kind"] == "file"
    }


def write_raw(root: Path, name: str | bytes, content: bytes | str = "A hostile note.\n") -> Path:
    """Write a file into the lore folder without Engram."""
    path = Path(os.fsdecode(os.path.join(os.fsencode(root), b"lore", os.fsencode(name))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


__all__ = [
    "BAD_BYTES",
    "CORPUS",
    "ESCAPES",
    "RECALLED",
    "check_result",
    "cli",
    "known_lore",
    "ok",
    "problems",
    "run_process",
    "write_raw",
]
