"""The short way of a merge, for three files that are byte for byte what Engram itself writes.

Nothing surrounds their values, so the merged file is the canonical file of the merged lore: no text is taken apart
and put together again. It gives what the long way gives (a property test holds them together) and answers None to
all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.files.frontmatter import codec, frontmatter, statement
from engram.adapters.files.frontmatter.tree import Problem
from engram.adapters.files.merge.merge_readable import Job, Result, digest
from engram.domain.errors import ValidationError
from engram.domain.merge import merge as rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Lore

_ahead: dict[tuple[bytes, Categories], Lore | None] = {}


def merge_canonical(
    base: bytes, ours: bytes, theirs: bytes, sources: tuple[str, str], job: Job
) -> Result | None:
    """Merge two versions of one lore; None: take the long way. `sources` are the clones that wrote ours and theirs."""
    found = [_lore(raw, job.categories) for raw in (base, ours, theirs)]
    before, one, other = found
    if before is None or one is None or other is None or not before.id == one.id == other.id:
        return None
    winner, loser = rules.in_order(
        rules.Version(one, digest(ours), sources[0]),
        rules.Version(other, digest(theirs), sources[1]),
        job.now,
    )
    settled = rules.merge(before, winner, loser, job.categories, job.now)
    merged = statement.normalize(settled.lore)
    try:
        content = codec.write_new(merged, job.categories)
    except (ValidationError, Problem):
        return None
    said = codec.read_canonical(content.decode(), job.categories)
    if said != merged:
        return None
    for raw, lore in ((ours, one), (theirs, other), (content, said)):
        codec.remember(raw.decode(), job.categories, lore)
    return Result(content, settled.fields, settled.losses)


def read_ahead(raws: Iterable[bytes], categories: Categories) -> None:
    """Take in files that are to be merged soon, instead of those before; `merge_canonical` is the quicker for it."""
    _ahead.clear()
    _ahead.update({(raw, categories): _read(raw, categories) for raw in raws})


def _lore(raw: bytes, categories: Categories) -> Lore | None:
    asked = raw, categories
    return _ahead.pop(asked) if asked in _ahead else _read(raw, categories)


def _read(raw: bytes, categories: Categories) -> Lore | None:
    """The lore of a file that Engram would write in just these bytes."""
    try:
        lore = codec.read_canonical(frontmatter.decode(raw), categories)
        return lore if lore is not None and codec.write_new(lore, categories) == raw else None
    except (ValidationError, Problem):
        return None
