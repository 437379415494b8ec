"""Keeping git from running the programs that attributes name: a pulled `.gitattributes` may say which, and for what."""

from __future__ import annotations

import os

from engram.adapters.git.runner import run


def without_filters(folder: str) -> tuple[str, ...]:
    """Words to put before such a git command in `folder`: no configured filter runs then."""
    said = run(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\..*", check=False).stdout
    keys = (key for key in os.fsdecode(said).split("\0") if key)
    names = dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys)
    settings = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    settings += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in settings for word in ("-c", setting))
