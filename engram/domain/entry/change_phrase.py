"""What happened to an entry between two versions, in one phrase: "new", "confidence .70 → .78 by K7QM"."""

from __future__ import annotations

from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


NEW = "new"
CHANGED = "changed"
MERGED = "merged"
FOLDED = "folded"
CONFLICT = "conflict"
FORGOTTEN = "forgotten"
_SILENT = (
    "id", "updated_at", "votes", "prior", "last_validated", "merged_from", "conflicts", "settled", "sources",
    "tally",
)  # fmt: skip
_SAID = ("content", "status", "tags", "pinned", "category")
_WORDS = {"created_at": "its date", "expires_at": "its end", "type": "its type", "when": "its moments"}


class Phrase(NamedTuple):
    """The kind of a change (`new`, `changed`, `merged`, `folded`, `conflict`, `forgotten`) and the words for it."""

    kind: str
    words: str


def phrase(before: Sequence[Lore], after: Lore | None) -> Phrase:
    """Return what became of the versions of an entry (none: it is new; two: they were merged); `after` None: it is gone."""
    if after is None:
        return Phrase(FORGOTTEN, "forgotten")
    if not before:
        return Phrase(NEW, "new" if after.status == ACTIVE else f"new, {after.status}")
    kept = len(after.conflicts) - max(len(one.conflicts) for one in before)
    if len(before) > 1 or kept > 0:
        versions = f"merged {max(len(before), 2)} versions"
        return (
            Phrase(CONFLICT, f"{versions}, {kept} kept for review") if kept > 0 else Phrase(MERGED, versions)
        )
    folded = len(after.merged_from) - len(before[0].merged_from)
    if folded > 0:
        return Phrase(FOLDED, f"took in {folded} that said the same")
    return Phrase(CHANGED, ", ".join(_parts(before[0], after)) or "rewritten, says the same")


def _parts(before: Lore, after: Lore) -> Iterator[str]:
    """Yield each difference that a reader would ask for, what moves recall first."""
    if before.thousandths != after.thousandths:
        by = [source for source, vote in after.accounts.items() if before.accounts.get(source) != vote]
        voted = f" by {', '.join(by)}" if 0 < len(by) <= 2 else ""
        yield f"confidence {_fraction(before)} → {_fraction(after)}{voted}"
    elif before.accounts != after.accounts:
        yield "judged, confidence stays"
    if before.content != after.content:
        yield "text changed"
    if before.status != after.status:
        yield f"{before.status} → {after.status}"
    if before.category != after.category:
        yield f"category {after.category}"
    if before.pinned != after.pinned:
        yield "pinned" if after.pinned else "not pinned any more"
    signs = [f"+{tag}" for tag in after.tags if tag not in before.tags]
    signs += [f"−{tag}" for tag in before.tags if tag not in after.tags]
    if signs:
        yield f"tags {' '.join(signs)}"
    others = [
        _WORDS.get(name, name)
        for name, old, new in zip(before._fields, before, after, strict=True)
        if old != new and name not in _SILENT and name not in _SAID
    ]
    if others:
        yield f"{', '.join(others)} changed"
    if len(after.conflicts) < len(before.conflicts):
        yield f"{len(before.conflicts) - len(after.conflicts)} reviewed"


def _fraction(lore: Lore) -> str:
    """Return a confidence as people read it in a line: `.70`."""
    return f"{lore.confidence:.2f}".removeprefix("0")
