"""Ignore files are read as git reads them."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

from gitkit import git, isolate

from engram.adapters.files.ignore import IgnoreRules

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PATTERNS = (
    "build/", "/top.md", "*.tmp.md", "a/b.md", "a/**/z.md", "**/deep", "docs/**", "!docs/keep.md",
    "[ab]x.md", "[!a]y.md", "q?.md",
    "# comment", "", "with space.md", r"\#hash.md", r"\!bang.md", "trail.md   ", "!build/",
    "x/*/y", "**/a/c.md", "a*/", "*", "!*.md", "!*/",
)  # fmt: skip
PARTS = ("a", "b", "build", "docs", "deep", "x", "y", "ab")
NAMES = (
    "top.md", "n.tmp.md", "b.md", "z.md", "keep.md", "ax.md", "by.md", "ay.md", "qq.md",
    "with space.md", "#hash.md", "!bang.md", "trail.md", "c.md",
)  # fmt: skip


def test_patterns_ignore_what_git_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    chance = random.Random(7)
    for number in range(25):
        top = tmp_path / f"r{number}"
        top.mkdir()
        git(top, "init", "-q")
        (top / "a").mkdir()
        (top / ".gitignore").write_text("\n".join(chance.sample(PATTERNS, 6)) + "\n")
        (top / "a/.gitignore").write_text("\n".join(chance.sample(PATTERNS, 2)) + "\n")
        paths = sorted(
            {
                "/".join([*chance.choices(PARTS, k=chance.randrange(4)), chance.choice(NAMES)])
                for _ in range(60)
            }
        )
        done = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin", "--no-index"],
            cwd=top,
            input="\0".join(paths).encode(),
            capture_output=True,
            check=False,
        )
        expected = set(filter(None, done.stdout.decode().split("\0")))
        rules = IgnoreRules(str(top))
        found = {path for path in paths if left_out(rules, path)}
        said = (top / ".gitignore").read_text(), (top / "a/.gitignore").read_text()
        assert found == expected, (said, found ^ expected)


def left_out(rules: IgnoreRules, path: str) -> bool:
    """Whether a walk does not come to a path: it, or a folder above it, is ignored."""
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(rules.ignores(folder, is_folder=True) for folder in above) or rules.ignores(path)
