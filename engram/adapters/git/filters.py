"""Keeping git from running the programs that attributes name: a pulled `.gitattributes` may say which, and for what."""

from __future__ import annotations

import os

from engram.adapters.git.runner import run
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository


def without_filters(repo: Repository) -> tuple[str, ...]:
    """Words to put before a git command that looks into files of the work tree: no configured filter runs then."""
    said = run(repo, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*", check=False).stdout
    keys = (key for key in os.fsdecode(said).split("\0") if key)
    names = dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys)
    settings = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    settings += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in settings for word in ("-c", setting))
