"""The command that starts this Engram again, for configurations that outlive the process: of agents, of git."""

from __future__ import annotations

import os
import sys
from shutil import which

PACKAGE = "engram-lore"
_CACHE_MARK = "CACHEDIR.TAG"  # in folders that anything may empty: https://bford.info/cachedir


def own_command() -> tuple[str, ...]:
    """Return how to start this Engram from any folder: by its Python, or as `uvx` and `pipx run` started it.

    Their environment lies in a cache and goes with it, so its Python is no command to write down.
    """
    if not _is_cached(sys.prefix):
        # -P: a folder `engram` where the caller stands is not ours.
        return (sys.executable, "-P", "-m", "engram")
    uv = os.environ.get("UV", "")  # set by uvx
    if uv:
        return uv, "tool", "run", "--quiet", "--from", _source(), "engram"
    return which("pipx") or "pipx", "run", "--quiet", "--spec", _source(), "engram"


def _is_cached(environment: str) -> bool:
    """Return whether an environment lies in a cache. Many an environment has a mark of its own, which says nothing."""
    folder = os.path.dirname(os.path.abspath(environment))
    while not os.path.exists(os.path.join(folder, _CACHE_MARK)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False
    return True


def _source() -> str:
    """Return what this Engram was installed from: a folder, a repository, or the package index."""
    import json
    from importlib.metadata import distribution
    from urllib.request import url2pathname

    origin = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    url, revision = str(origin.get("url", PACKAGE)), origin.get("vcs_info", {})
    if revision:
        return f"{revision['vcs']}+{url}@{revision['commit_id']}"
    return url2pathname(url.removeprefix("file://")) if url.startswith("file://") else url
