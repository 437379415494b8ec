"""The command that starts this installation of Engram, for the configuration files of agents and git."""

from __future__ import annotations

import os
import sys
from shutil import which

PACKAGE = "engram-lore"
_CACHE_MARK = "CACHEDIR.TAG"  # marks folders that may be deleted at any time: https://bford.info/cachedir


def own_command() -> tuple[str, ...]:
    """Return the command that starts this Engram from any folder: its Python, or `uvx` or `pipx run` as it was started.

    Those two keep their environments in a cache that may be deleted, so the path of its Python would not last.
    """
    if not _is_cached(sys.prefix):
        # -P: do not import a folder `engram` in the working folder.
        return (sys.executable, "-P", "-m", "engram")
    uv = os.environ.get("UV", "")  # set by uvx
    if uv:
        return uv, "tool", "run", "--quiet", "--from", _source(), "engram"
    return which("pipx") or "pipx", "run", "--quiet", "--spec", _source(), "engram"


def _is_cached(environment: str) -> bool:
    """Return whether an environment is in a cache: a folder above it is marked. Many environments are marked themselves."""
    folder = os.path.dirname(os.path.abspath(environment))
    while not os.path.exists(os.path.join(folder, _CACHE_MARK)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False
    return True


def _source() -> str:
    """Return the folder, repository or package that this Engram was installed from."""
    import json
    from importlib.metadata import distribution
    from urllib.request import url2pathname

    origin = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    url, revision = str(origin.get("url", PACKAGE)), origin.get("vcs_info", {})
    if revision:
        return f"{revision['vcs']}+{url}@{revision['commit_id']}"
    return url2pathname(url.removeprefix("file://")) if url.startswith("file://") else url
