"""How the answers of the API look to an agent: as text and as data, both short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult

from engram.domain.categories import Categories
from engram.domain.framing import NOTICE, as_text, frame, origin_of, quoted
from engram.domain.lore import ACTIVE
from engram.domain.lore_json import lore_as_dict
from engram.domain.safe_text import safe_text
from engram.mcp import results
from engram.mcp.tools.tool import answer

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.listing import Shown
    from engram.usecases.query import Answer
    from engram.usecases.record import Recorded

CATEGORIES = "One of " + ", ".join(Categories().names)

_NOTHING = "Nothing relevant is known here."
_WEAK = "The best of it is only weakly related."
_INSIDE = {"votes", "conflicts", "source_id", "sources", "importance", "title", "state", "agent"}
_FACTS = ("context", "tags", "files", "entities", "created_at", "validation_count", "status", "path", "id")


def found(engram: Engram, said: Answer) -> CallToolResult:
    """The answer to a query, within the tokens of `recall.budget`."""
    budget = int(engram.store.settings.number("recall.budget"))
    framed = frame([(hit.ref, hit.lore) for hit in said.lore], engram.store.source_id, budget)
    notes = [*said.notes, *([_WEAK] if said.strength == "weak" else [])]
    rows = [results.FoundLore(**one._asdict()) for one in framed]
    data = results.Found(
        strength=said.strength, notice=NOTICE if framed else _NOTHING, lore=rows, notes=notes
    )
    return answer("\n\n".join(["\n".join([data.notice, *notes]), *map(as_text, framed)]), data)


def recorded(done: Recorded) -> CallToolResult:
    """What was recorded, and what says nearly the same."""
    lore = done.lore
    lines = [f"Recorded {lore.id} · {lore.category} · {done.path}"]
    lines += [f"Masked {done.redacted} secret(s)."] if done.redacted else []
    lines += [f"Very like {twin.id} ({twin.similarity:.2f}):\n{quoted(twin.title)}" for twin in done.similar]
    lines += ["If one says the same: judge that one helpful, forget this one."] if done.similar else []
    data = results.Recorded(
        id=lore.id, category=lore.category, confidence=lore.confidence, path=done.path, redacted=done.redacted,
        similar=[results.Similar(**twin._asdict()) for twin in done.similar],
    )  # fmt: skip
    return answer("\n".join(lines), data)


def whole(shown: Shown, engram: Engram) -> dict[str, Any]:
    """Every field of a lore that says something, as data."""
    fields = lore_as_dict(shown.lore, shown.path)
    said = {
        "ref": shown.ref,
        **fields,
        "tier": shown.lore.state,
        "origin": origin_of(shown.lore, engram.store.source_id),
    }
    return {name: value for name, value in said.items() if name not in _INSIDE and _says_something(value)}


def whole_text(shown: Shown, engram: Engram) -> str:
    """A lore with its fields, as text."""
    framed = frame([(shown.ref, shown.lore)], engram.store.source_id, None)[0]
    return f"{as_text(framed)}\n{quoted(_facts(shown))}"


def _facts(shown: Shown) -> str:
    """One line of what else is known of a lore."""
    fields = lore_as_dict(shown.lore, shown.path)
    usual: tuple[object, ...] = ("", None, [], 0, ACTIVE)
    said = [f"{name} {_words(fields[name])}" for name in _FACTS if fields[name] not in usual]
    return safe_text(" · ".join(said))


def status(state: dict[str, Any]) -> CallToolResult:
    """The state of the store, as `engram status` reports it, without what only a person looks for."""
    store, index, git, scope = state["store"], state["index"], state["git"], state["scopes"][0]["name"]
    notes = [index.get("message"), git.get("message"), state["embedding"].get("message")]
    if index["problems"]:
        notes.append(f"{index['problems']} files cannot be read as lore: run `engram doctor`")
    data = results.Status(
        store=store["path"], scope=scope, placement=store["placement"], lore_count=state["lore_count"],
        by_category=state["by_category"], strategy=index.get("strategy", "scan"), pending=git["pending"],
        ahead=git["ahead"], behind=git["behind"], session_refs=state["session"]["surfaced"],
        notes=[note for note in notes if note],
    )  # fmt: skip
    lines = [
        f"{data.lore_count:,} lore in {data.store} ({data.scope}, {data.placement}); search: {data.strategy}",
        f"git: {data.pending} waiting, {data.ahead} ahead, {data.behind} behind; this session: {data.session_refs} refs",
        *data.notes,
    ]
    return answer("\n".join(lines), data)


def _says_something(value: object) -> bool:
    return value is not False and value not in ("", None, [])


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else " ".join(str(value).split())
