"""The fast path of a merge, for three files that are byte for byte in canonical form.

They have nothing but values, so the merged file is the canonical file of the merged entry, and no text has to be parsed
into parts and reassembled. The result equals that of the slow path (a property test compares them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.files.frontmatter import codec, frontmatter
from engram.adapters.files.frontmatter.codec import ParsedFiles, normalize
from engram.adapters.files.frontmatter.frontmatter import Problem
from engram.adapters.files.merge.merge_readable import Job, Merged, digest
from engram.domain.errors import ValidationError
from engram.domain.merge.entry_merge import merge, version_of
from engram.domain.merge.merge import Edit, in_order

if TYPE_CHECKING:
    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Lore


def merge_canonical(
    base: bytes, ours: bytes, theirs: bytes, edits: tuple[Edit, Edit], job: Job
) -> Merged | None:
    """Merge two versions of one entry; None if the slow path is needed. `edits` say who wrote ours and theirs, and when."""
    before, one, other = (parse_canonical(raw, job.categories, job.parsed) for raw in (base, ours, theirs))
    if before is None or one is None or other is None or not before.id == one.id == other.id:
        return None
    sides = version_of(one, digest(ours), edits[0]), version_of(other, digest(theirs), edits[1])
    result = merge(before, *in_order(*sides, job.now), job.categories, job.now)
    merged = normalize(result.version.record)
    try:
        content = codec.write_new(merged, job.categories)
    except (ValidationError, Problem):
        return None
    written = codec.read_canonical(content.decode(), job.categories)
    if written != merged:
        return None
    if job.parsed is not None:
        job.parsed.add(content, job.categories, written)
    return Merged(content, result.fields, result.losses, contested=result.contested)


def parse_canonical(raw: bytes, categories: Categories, parsed: ParsedFiles | None = None) -> Lore | None:
    """Return the entry of a file that is exactly canonical; None for any other. `parsed` is the cache to use."""
    known = parsed.find(raw, categories) if parsed is not None else None
    if known is not None:
        return known
    try:
        lore = codec.read_canonical(frontmatter.decode(raw), categories)
        if lore is None or codec.write_new(lore, categories) != raw:
            return None
    except (ValidationError, Problem):
        return None
    if parsed is not None:
        parsed.add(raw, categories, lore)
    return lore
