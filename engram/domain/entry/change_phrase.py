"""Describe the change of an entry between versions in a phrase: "new", "confidence .70 → .78 by K7QM"."""

from __future__ import annotations

from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


NEW = "new"
CHANGED = "changed"
MERGED = "merged"
FOLDED = "folded"
CONFLICT = "conflict"
FORGOTTEN = "forgotten"
_IGNORED = (
    "id", "updated_at", "votes", "prior", "last_validated", "merged_from", "conflicts", "settled", "sources",
    "tally",
)  # fmt: skip
_DESCRIBED = ("content", "status", "tags", "pinned", "category")
_FIELD_NAMES = {"created_at": "its date", "expires_at": "its end", "type": "its type", "when": "its moments"}


class Phrase(NamedTuple):
    """The kind of a change (`new`, `changed`, `merged`, `folded`, `conflict`, `forgotten`), and its description."""

    kind: str
    words: str


def phrase(before: Sequence[Lore], after: Lore | None) -> Phrase:
    """Describe a change from previous versions (none: new; two: merged) to the version `after` (None: deleted)."""
    if after is None:
        return Phrase(FORGOTTEN, "forgotten")
    if not before:
        return Phrase(NEW, "new" if after.status == ACTIVE else f"new, {after.status}")
    unresolved = len(after.conflicts) - max(len(lore.conflicts) for lore in before)
    if len(before) > 1 or unresolved > 0:
        versions = f"merged {max(len(before), 2)} versions"
        if unresolved <= 0:
            return Phrase(MERGED, versions)
        return Phrase(CONFLICT, f"{versions}, {unresolved} kept for review")
    folded = len(after.merged_from) - len(before[0].merged_from)
    if folded > 0:
        return Phrase(FOLDED, f"{counted(folded, 'duplicate')} folded in")
    return Phrase(CHANGED, ", ".join(_parts(before[0], after)) or "rewritten without changes")


def _parts(before: Lore, after: Lore) -> Iterator[str]:
    """Yield the differences that matter to a reader, beginning with those that affect recall."""
    if before.thousandths != after.thousandths:
        sources = [source for source, vote in after.accounts.items() if before.accounts.get(source) != vote]
        voted = f" by {', '.join(sources)}" if 0 < len(sources) <= 2 else ""
        yield f"confidence {_fraction(before)} → {_fraction(after)}{voted}"
    elif before.accounts != after.accounts:
        yield "judged, confidence unchanged"
    if before.content != after.content:
        yield "text changed"
    if before.status != after.status:
        yield f"{before.status} → {after.status}"
    if before.category != after.category:
        yield f"category {after.category}"
    if before.pinned != after.pinned:
        yield "pinned" if after.pinned else "unpinned"
    tags = [f"+{tag}" for tag in after.tags if tag not in before.tags]
    tags += [f"−{tag}" for tag in before.tags if tag not in after.tags]
    if tags:
        yield f"tags {' '.join(tags)}"
    others = [
        _FIELD_NAMES.get(name, name)
        for name, old, new in zip(before._fields, before, after, strict=True)
        if old != new and name not in _IGNORED and name not in _DESCRIBED
    ]
    if others:
        yield f"{', '.join(others)} changed"
    if len(after.conflicts) < len(before.conflicts):
        yield f"{len(before.conflicts) - len(after.conflicts)} reviewed"


def _fraction(lore: Lore) -> str:
    """Format a confidence for a line: `.70`."""
    return f"{lore.confidence:.2f}".removeprefix("0")
