"""The review queue: items that wait for a person, why, and the decisions allowed for each kind."""

from __future__ import annotations

from engram.domain.entry.disputes import DELETED
from engram.domain.entry.people import byline
from engram.domain.errors import UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entry.lore import Conflict

ACCEPT, TAKE, MINE, THEIRS, BOTH, EDIT, REJECT, MERGE, SUPERSEDE, ARCHIVE, SNOOZE = DECISIONS = (
    "accept", "take", "mine", "theirs", "both", "edit", "reject", "merge", "supersede", "archive", "snooze",
)  # fmt: skip
# A proposal that is not a decision: what was found does not tell which entry is right.
LOOK = "look"
PROBLEM, CONFLICT, ENTITY, PROPOSAL, FOREIGN, PENDING, CONTRADICTION, DUPLICATE, JUNK, STALE, WEAK, MOMENT = KINDS = (
    "problem", "conflict", "entity", "proposal", "foreign", "pending", "contradiction", "duplicate", "junk", "stale", "weak",
    "moment",
)  # fmt: skip

_PAIR = {ACCEPT: "both stay", REJECT: "the newer is forgotten", SUPERSEDE: "the newer supersedes the older"}
_TWO_VERSIONS = {
    ACCEPT: "the current version stays, the other goes",
    TAKE: "the other version takes its place",
}

# The decisions allowed for each kind, and their effects; the one proposed comes with the item.
ALLOWED = {
    PROBLEM: {EDIT: "fix the file in your editor"},
    CONFLICT: {
        **_TWO_VERSIONS,
        MINE: "your version stands",
        THEIRS: "the version that is not yours stands",
        BOTH: "both versions stand, one after the other",
    },
    ENTITY: {**_TWO_VERSIONS, EDIT: "change it in your editor"},
    PROPOSAL: {},  # decided entry by entry: `engram.usecases.review.proposals`
    FOREIGN: {ACCEPT: "it may be recalled", REJECT: "it is forgotten"},
    PENDING: {ACCEPT: "it becomes active", REJECT: "it is forgotten"},
    CONTRADICTION: _PAIR,
    DUPLICATE: {**_PAIR, MERGE: "they become one"},
    JUNK: {ACCEPT: "it stays active", REJECT: "it is forgotten"},
    STALE: {ACCEPT: "it is still valid", REJECT: "it is forgotten"},
    WEAK: {ACCEPT: "it stays unchanged", REJECT: "it is forgotten"},
    MOMENT: {ACCEPT: "it stays, and that moment is not used", REJECT: "it is forgotten"},
}  # fmt: skip
_CLAIMED = {ACCEPT: "what it claims counts here", REJECT: "it stays, and what it claims does not count here"}
_ONE_ENTRY = (CONFLICT, FOREIGN, PENDING, JUNK, STALE, WEAK, MOMENT)


class Item(NamedTuple):
    """One item that waits for a person.

    `lore` has the ids of its entries, oldest first (none for entities and unreadable files), `paths` their files. `why` is
    a sentence, `evidence` further lines, `proposal` a decision, `cost` in tokens. `mark` changes when the entries change;
    `agent` and `author` recorded the entry, the newest of several ("" unknown). `claims` says in words what another clone
    set and is ignored until accepted. `titles` are those of all its entries, `at` is when the newest was recorded (Unix
    seconds, 0 unknown). `worth` and `certainty` are in thousandths; their product orders the queue. `sides` names the
    writers of the two versions of a dispute, sorted (none: unknown).
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
    claims: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    at: float = 0.0
    worth: int = 0
    certainty: int = 0
    author: str = ""
    sides: tuple[str, ...] = ()

    @property
    def who(self) -> str:
        """Who recorded it, or for a dispute who wrote each version; "" if unknown."""
        if self.sides:
            return " ⇄ ".join(self.sides)
        return byline(self.agent, self.author) if self.agent or self.author else ""

    @property
    def score(self) -> int:
        """Worth times certainty, in thousandths."""
        return self.worth * self.certainty // 1000

    @property
    def proposed(self) -> str:
        """The proposal in words."""
        if self.kind == PROPOSAL:
            return "look at its entries"
        return "look at both" if self.proposal == LOOK else self.proposal

    @property
    def decisions(self) -> dict[str, str]:
        """The decisions allowed for it, with their effects."""
        return allowed_decisions(self.kind) | (_CLAIMED if self.claims else {})


def item_id(kind: str, about: Sequence[str]) -> str:
    """Return the id of an item: the same on every machine as long as it is about the same entries."""
    from hashlib import blake2b  # 2 ms of start-up, not needed by hooks

    return blake2b("\0".join([kind, *about]).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def describe_conflicts(conflicts: Sequence[Conflict]) -> tuple[str, tuple[str, ...]]:
    """Describe versions that lost a merge: the reason as sentences, and a line for each version."""
    fields = ", ".join(dict.fromkeys([conflict.field for conflict in conflicts if conflict.field != DELETED]))
    reasons = [f"Two clones changed its {fields} concurrently."] if fields else []
    if any(conflict.field == DELETED for conflict in conflicts):
        reasons.append("One clone deleted it while another changed it.")
    lines = [
        f"{conflict.field} by {conflict.source or 'another clone'}: {conflict.value}"
        for conflict in conflicts
    ]
    return " ".join(reasons), tuple(lines)


def merge_item(lore: Sequence[str], paths: Sequence[str], title: str, why: str) -> Item:
    """Make an item that asks whether these entries, oldest first, should be merged."""
    return Item(item_id(DUPLICATE, lore), DUPLICATE, tuple(lore), tuple(paths), title, why, MERGE)


def allowed_decisions(kind: str) -> dict[str, str]:
    """Return the decisions allowed for a kind of item, with their effects."""
    found = dict(ALLOWED[kind])
    if kind in _ONE_ENTRY:
        found |= {EDIT: "change it in your editor", ARCHIVE: "it is kept, but not recalled"}
    return found | {SNOOZE: "ask again later"}


def check_decision(item: Item, decision: str) -> None:
    """Raise UsageError unless the decision is allowed for the item."""
    possible = item.decisions
    if decision not in possible:
        raise UsageError(
            f"'{decision}' is not possible for {item.id}, which is of kind '{item.kind}'.",
            f"It is decided about entry by entry: {item.evidence[0]}"
            if item.kind == PROPOSAL
            else f"Possible: {', '.join(possible)}.",
        )


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise UsageError for an unknown kind."""
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"'{kind}' is not a kind of review item.", f"Kinds: {', '.join(KINDS)}.")
