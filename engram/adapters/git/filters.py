"""Keeping git from running the programs that attributes name: a pulled `.gitattributes` may say which, and for what."""

from __future__ import annotations

from engram.adapters.git.configuration import listed


def without_filters(folder: str) -> tuple[str, ...]:
    """Words to put before such a git command in `folder`: no configured filter runs then."""
    keys = (key for key, _ in listed(folder) if key.startswith("filter."))
    names = dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys)
    settings = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    settings += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in settings for word in ("-c", setting))
