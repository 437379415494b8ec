"""The review queue: what waits for a person, why, and what can be decided about it."""

from __future__ import annotations

import hashlib

from engram.domain.errors import UsageError
from engram.domain.merge.merge import DELETED
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Conflict

ACCEPT, TAKE, EDIT, REJECT, MERGE, SUPERSEDE, ARCHIVE, SNOOZE = DECISIONS = (
    "accept", "take", "edit", "reject", "merge", "supersede", "archive", "snooze",
)  # fmt: skip
PROBLEM, CONFLICT, ENTITY, FOREIGN, PENDING, CONTRADICTION, DUPLICATE, JUNK, STALE, WEAK = KINDS = (
    "problem", "conflict", "entity", "foreign", "pending", "contradiction", "duplicate", "junk", "stale", "weak",
)  # fmt: skip

_PAIR = {
    ACCEPT: "both stay",
    REJECT: "the newer is forgotten",
    SUPERSEDE: "the newer takes the place of the older",
}
_TWO_VERSIONS = {
    ACCEPT: "what stands stays, the other version goes",
    TAKE: "the other version takes its place",
}

# What may be decided of each kind, and what that does. What is proposed comes with the item.
ALLOWED = {
    PROBLEM: {EDIT: "mend the file in your editor"},
    CONFLICT: _TWO_VERSIONS,
    ENTITY: {**_TWO_VERSIONS, EDIT: "change it in your editor"},
    FOREIGN: {ACCEPT: "it may be recalled", REJECT: "it is forgotten"},
    PENDING: {ACCEPT: "it becomes active", REJECT: "it is forgotten"},
    CONTRADICTION: _PAIR,
    DUPLICATE: {**_PAIR, MERGE: "they become one"},
    JUNK: {ACCEPT: "it stays, and is active", REJECT: "it is forgotten"},
    STALE: {ACCEPT: "it still holds", REJECT: "it is forgotten"},
    WEAK: {ACCEPT: "it stays as it is", REJECT: "it is forgotten"},
}  # fmt: skip
_ONE_LORE = (CONFLICT, FOREIGN, PENDING, JUNK, STALE, WEAK)


class Item(NamedTuple):
    """One thing that waits for a person.

    `lore` are the ids it is about (none for a file that cannot be read, and for an entity), the older first; `paths` their files;
    `title` what to call it; `why` a sentence; `evidence` further lines; `proposal` a decision; `cost` in tokens;
    `mark` changes when what it is about changes; `agent` recorded the lore (the newest of several; "" unknown).
    """

    id: str
    kind: str
    lore: tuple[str, ...]
    paths: tuple[str, ...]
    title: str
    why: str
    proposal: str
    evidence: tuple[str, ...] = ()
    cost: int = 0
    mark: str = ""
    agent: str = ""


def item_id(kind: str, about: Sequence[str]) -> str:
    """A short name for an item: the same on every machine, as long as it is about the same lore."""
    return hashlib.blake2b(
        "\0".join([kind, *about]).encode("utf-8", "surrogatepass"), digest_size=5
    ).hexdigest()


def versions_told(conflicts: Sequence[Conflict]) -> tuple[str, tuple[str, ...]]:
    """Why versions that lost a merge wait for a person, and a line for each."""
    fields = ", ".join(dict.fromkeys([entry.field for entry in conflicts if entry.field != DELETED]))
    told = [f"Two clones wrote its {fields} at once."] if fields else []
    if any(entry.field == DELETED for entry in conflicts):
        told.append("One clone deleted it while another changed it.")
    lines = [f"{entry.field} by {entry.source or 'another clone'}: {entry.value}" for entry in conflicts]
    return " ".join(told), tuple(lines)


def merge_of(lore: Sequence[str], paths: Sequence[str], title: str, why: str) -> Item:
    """The item that asks whether these lore, the older first, should become one."""
    return Item(item_id(DUPLICATE, lore), DUPLICATE, tuple(lore), tuple(paths), title, why, MERGE)


def allowed(kind: str) -> dict[str, str]:
    """The decisions that an item of this kind can have, and what each means."""
    found = dict(ALLOWED[kind])
    if kind in _ONE_LORE:
        found |= {EDIT: "change it in your editor", ARCHIVE: "it is kept, but not recalled"}
    return found | {SNOOZE: "ask again later"}


def check_decision(item: Item, decision: str) -> None:
    """Raise UsageError unless this can be decided about the item."""
    possible = allowed(item.kind)
    if decision not in possible:
        raise UsageError(
            f"'{decision}' cannot be decided about {item.id}, which is of the kind {item.kind}.",
            f"Possible: {', '.join(possible)}.",
        )


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise UsageError for a kind that there is not."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"'{kind}' is no kind of review item.", f"Kinds: {', '.join(KINDS)}.")
