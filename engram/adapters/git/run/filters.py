"""Keep git from running the filters that attributes name: a pulled `.gitattributes` may choose which, and for what."""

from __future__ import annotations

from engram.adapters.git.run.configuration import settings


def without_filters(folder: str) -> tuple[str, ...]:
    """Return the options with which a git command in `folder` runs no configured filter."""
    keys = (key.removeprefix("filter.") for key, _, _ in settings(folder) if key.startswith("filter."))
    names = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    emptied = [f"filter.{name}.{key}=" for name in names for key in ("process", "clean", "smudge")]
    emptied += [f"filter.{name}.required=false" for name in names]
    return tuple(word for setting in emptied for word in ("-c", setting))
