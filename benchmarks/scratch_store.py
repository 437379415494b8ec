"""Make scratch stores in a clean environment, with entries written straight to files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from engram.adapters.files import places  # noqa: E402
from engram.adapters.files.frontmatter import codec  # noqa: E402
from engram.domain.entry.categories import Categories  # noqa: E402

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

PYTHON_PATH = os.pathsep.join([ROOT, os.path.join(ROOT, "tui")])
FOLDER = "lore"
SESSION = "benchmark"
_REMOVED_PREFIXES = ("ENGRAM_", "GIT_", "XDG_", "CLAUDE", "CODEX_", "CURSOR_", "GEMINI_")


def isolate(home: str) -> None:
    """Isolate this process and its children in `home`, without the user's configuration, stores and sessions."""
    for name in list(os.environ):
        if name.startswith(_REMOVED_PREFIXES):
            del os.environ[name]
    os.makedirs(home, exist_ok=True)
    os.environ |= {
        "HOME": home, "USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home,
        "XDG_CONFIG_HOME": os.path.join(home, "config"), "XDG_DATA_HOME": os.path.join(home, "data"),
        "XDG_STATE_HOME": os.path.join(home, "state"), "XDG_CACHE_HOME": os.path.join(home, "cache"),
        "ENGRAM_SESSION": SESSION, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Benchmark", "GIT_AUTHOR_EMAIL": "benchmark@example.invalid",
        "GIT_COMMITTER_NAME": "Benchmark", "GIT_COMMITTER_EMAIL": "benchmark@example.invalid",
    }  # fmt: skip


def git(folder: str, *words: str) -> str:
    """Return the output of git in a folder. Raises RuntimeError."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words[:4])}: {done.stderr.decode()[-500:]}")
    return os.fsdecode(done.stdout).rstrip("\n")


def make_plain(root: str) -> None:
    """Make a store outside git: a configuration file and an empty lore folder."""
    os.makedirs(os.path.join(root, FOLDER))
    with open(os.path.join(root, places.CONFIG_NAME), "w", encoding="utf-8") as file:
        file.write(f'[store]\nplacement = "in-tree"\nfolder = "{FOLDER}"\n')


def write_lore(root: str, found: Iterable[tuple[str, Lore]]) -> int:
    """Write lore files at their paths relative to the store (with `/`); return their size in bytes.

    Raises ValidationError for an entry that cannot be written as a file.
    """
    categories = Categories()
    made: set[str] = set()
    total = 0
    for path, lore in found:
        absolute = f"{root}/{path}"
        folder = os.path.dirname(absolute)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        raw = codec.write_new(lore, categories)
        descriptor = os.open(absolute, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            total += os.write(descriptor, raw)
        finally:
            os.close(descriptor)
    return total
