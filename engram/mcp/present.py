"""How the answers of the API look to an agent: as text and as data, both short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from engram.domain.admission.credit import Counted, as_dict
from engram.domain.admission.tiers import QUARANTINED, Tier
from engram.domain.agents.captured_notes import LEAD, as_lines, heading_of
from engram.domain.agents.framing import (
    IN_DATA,
    NOTICE,
    QUOTE,
    SEVERAL,
    WEAK,
    Fitted,
    also_text,
    as_text,
    context_text,
    frame,
    origin_of,
    quote,
)
from engram.domain.agents.framing import whole_text as framed_whole
from engram.domain.agents.neutralization import neutralize, neutralize_data
from engram.domain.entry.categories import short_name
from engram.domain.errors import EngramError, NotFoundError
from engram.domain.recall import ranking
from engram.domain.recall.budget import tokens
from engram.domain.scopes import USER
from engram.mcp import results
from engram.mcp.tools.tool import answer
from engram.usecases.agents.captured_notes import note_of
from engram.usecases.agents.shown_entries import remember
from engram.usecases.recall.captured_recall import matching
from engram.usecases.recall.search import has_rivals
from engram.usecases.recording.record import KNOWN, Recorded, describe_known
from engram.usecases.similarity.near_duplicates import Similar, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.find import Found
    from engram.usecases.recall.query import Answer
    from engram.usecases.recording.feedback import Judged

_NOTHING = "Nothing relevant is known here. Record what you find out, and end it with this question."
_NAMED = 5  # titles in a question
_ANYHOW = 3  # hits that a weak answer shows in any case
_OF_BEST = 0.6  # the share of the first one's score from which it shows others, too
_MOST_TWINS = 2
CHOICES = "If one says the same, record yours again with same_as; if yours replaces it, with supersedes; else leave both."
_NAMES = 20  # tokens of the names of an answer's fields
_INSIDE = frozenset(
    "votes conflicts settled source_id sources importance title state agent author confirmed".split()  # noqa: SIM905 - names
)


def present_answer(engram: Engram, answered: Answer) -> CallToolResult:
    """The answer to a query, within the tokens of `recall.budget`."""
    answered = without_stragglers(answered)
    several = [SEVERAL] if answered.strength == ranking.WEAK and has_rivals(answered.lore) else []
    return present_entries(
        engram, answered, [*several, *answered.notes, *_steps(answered)], _NOTHING, answered.query
    )


def with_captured(engram: Engram, result: CallToolResult, question: str) -> CallToolResult:
    """Return the answer, followed by the captured entries that match the question: at most two, as confirmed by nobody."""
    found = matching(engram.store, question)
    if not found:
        return result
    notes = [note_of(engram.store, lore) for lore in found]
    lines = [LEAD, *(line for note in notes for line in as_lines(note, QUOTE))]
    rows = [
        {"ref": "", "about": f"{short_name(lore.category)} · {heading_of(note)}", "text": lore.content}
        for lore, note in zip(found, notes, strict=True)
    ]
    data = dict(result.structured_content or {})
    data["lore"] = [*data.get("lore", []), *(neutralize_data(row, is_checked=False) for row in rows)]
    data["notes"] = [*data.get("notes", []), LEAD]
    first = result.content[0] if result.content else None
    answer = first.text if isinstance(first, TextContent) else ""
    text = TextContent(type="text", text="\n\n".join([answer, "\n".join(lines)]))
    return CallToolResult(content=[text], structured_content=data)


def without_stragglers(answered: Answer) -> Answer:
    """Leave out of a weak answer the hits behind the third that score far below the first."""
    if answered.strength != ranking.WEAK:
        return answered
    least = _OF_BEST * answered.lore[0].score.total
    kept = [hit for place, hit in enumerate(answered.lore) if place < _ANYHOW or hit.score.total >= least]
    return answered._replace(lore=tuple(kept))


def present_entries(
    engram: Engram, answered: Answer | Found, notes: Sequence[str], nothing: str, question: str = ""
) -> CallToolResult:
    """The lore of an answer within the tokens of `recall.budget`, behind some notes; `nothing` is the text where there is none."""
    fitted = frame_answer(engram, answered, question, notes)
    remember(engram.store, fitted.items, is_recalled=bool(question))
    strength = "" if answered.strength == ranking.STRONG else answered.strength
    rows = [
        results.FoundLore(ref=one.ref, about=one.about, text=one.body, context=one.context)
        for one in fitted.items
    ]
    data = results.Found(
        strength=strength, notice=IN_DATA if rows else nothing, lore=rows, also=dict(fitted.also), notes=list(notes)
    )  # fmt: skip
    lines = [NOTICE if rows else nothing, *_doubt(answered, notes), *notes]
    return answer(as_answer(fitted, lines), data)


def _doubt(answered: Answer | Found, notes: Sequence[str]) -> list[str]:
    """The line of a weak answer, unless a note says that several are near."""
    return [WEAK] if answered.strength == ranking.WEAK and SEVERAL not in notes else []


def as_answer(fitted: Fitted, lines: Sequence[str]) -> str:
    """Lore as text, behind what Engram itself says."""
    shown = ["\n".join(filter(None, (as_text(one), context_text(one)))) for one in fitted.items]
    parts = ["\n".join(lines), *shown, also_text(fitted.also)]
    return "\n\n".join(part for part in parts if part)


def _steps(answered: Answer) -> list[str]:
    """What of an answer is there only because it is about an entity that is named."""
    return [
        f"{hit.ref} is one step away, by way of {neutralize(hit.via)}." for hit in answered.lore if hit.via
    ]


def frame_answer(
    engram: Engram, answered: Answer | Found, question: str, notes: Sequence[str] = ()
) -> Fitted:
    """The lore of an answer as an agent gets it, within the tokens of `recall.budget`, `notes` included."""
    from engram.usecases.history.origin import as_seen
    from engram.usecases.opening.scopes import reach
    from engram.usecases.recall.passage_similarity import nearness

    store = engram.store
    seen = [(hit.ref, *as_seen(reach(store, hit.scope), hit.lore)) for hit in answered.lore]
    said = [NOTICE, *_doubt(answered, notes), *(f'"{note}",' for note in notes)]
    used = tokens("".join(said)) + _NAMES
    near = nearness(store, question) if question else None
    return frame(seen, int(store.settings.number("recall.budget")) - used, store.clock.now(), question, near)


def present_recorded(engram: Engram, done: Recorded) -> CallToolResult:
    """What was recorded or known and where, and what says nearly the same, whole, with what can be done about it."""
    lore, known = done.lore, done.status == KNOWN
    did = "Known already:" if known else "Recorded"
    lines = [f"{did} {lore.id} · {lore.category} · {done.scope}: {done.path}"]
    if known:
        lines += [quote(_readable_text(engram, lore.id, lore.title))]
        lines += [describe_known(done)] if describe_known(done) else []
    lines += [why for why in (where_to(engram, done),) if why]
    lines += [f"Masked {done.redacted} secret(s)."] if done.redacted else []
    twins = [_twin(engram, twin) for twin in done.similar[:_MOST_TWINS]]
    for near, twin in zip(done.similar, twins, strict=False):
        lines += [f"{neutralize(describe(near), is_checked=False)}:", quote(twin.text)]
    lines += [CHOICES] if twins and not known else []
    data = results.Recorded(
        id=lore.id, category=lore.category, confidence=lore.confidence, path=done.path, redacted=done.redacted,
        similar=twins, scope=done.scope, status=done.status, note=where_to(engram, done),
    )  # fmt: skip
    return answer("\n".join(lines), data)


def _twin(engram: Engram, twin: Similar) -> results.Similar:
    title, text = (_readable_text(engram, twin.id, one) for one in (twin.title, twin.content))
    differs = neutralize(twin.differs, is_checked=False)
    return results.Similar(id=twin.id, similarity=twin.similarity, title=title, text=text, differs=differs)


def where_to(engram: Engram, done: Recorded) -> str:
    """What to do where project knowledge may have gone to somebody's own store, for want of another; "" elsewhere."""
    stand = engram.store.stand
    if done.scope != USER or stand.scope != USER or stand.named:
        return ""
    return "This is the user's own store, as the project has none: `engram init` there makes one, then promote it."


def _readable_text(engram: Engram, lore_id: str, text: str) -> str:
    """Words of an entry as an agent may read them."""
    try:
        trust, _ = _readable(engram.get(lore_id), engram)
    except EngramError:
        return "(it waits for a person)"
    return neutralize(text, lines=True, is_checked=trust.is_checked)


def entry_data(shown: Shown, engram: Engram) -> dict[str, Any]:
    """Every field of an entry that says something, as data."""
    trust, counts = _readable(shown, engram)
    fields = as_dict(shown.lore, shown.path, counts)
    values = {
        "ref": shown.ref,
        **fields,
        "pinned": counts.pinned,
        "tier": counts.earned.words(engram.store.clock.now()),
        "trust": trust.tier,
        "origin": origin_of(shown.lore, engram.store.source_id),
    }
    kept = {name: value for name, value in values.items() if name not in _INSIDE and _says_something(value)}
    return {name: neutralize_data(value, is_checked=trust.is_checked) for name, value in kept.items()}


def is_readable(engram: Engram, shown: Shown) -> bool:
    """Whether an agent may see an entry."""
    try:
        return bool(_readable(shown, engram))
    except NotFoundError:
        return False


def wholes(engram: Engram, shown: Sequence[Shown]) -> CallToolResult:
    """Entries whole, with all fields; that they were asked for is in the activity log."""
    from engram.usecases.store import activity_log

    texts = [whole_text(one, engram) for one in shown]
    activity_log.note(engram.store, "get", ids=[one.lore.id for one in shown], tokens=sum(map(tokens, texts)))
    data = results.Whole(notice=NOTICE, lore=[entry_data(one, engram) for one in shown])
    return answer("\n\n".join([NOTICE, *texts]), data)


def present_feedback(done: Sequence[Judged]) -> CallToolResult:
    """What entries came to by feedback."""
    from engram.usecases.recording.feedback import describe

    updated = [results.Judgement(**one._asdict()) for one in done]
    return answer("\n".join(map(describe, done)), results.Judged(updated=updated))


def whole_text(shown: Shown, engram: Engram) -> str:
    """An entry with its fields, as text. Raises NotFoundError for one that waits for a person."""
    return framed_whole(
        shown.ref, shown.lore, shown.path, *_readable(shown, engram), engram.store.clock.now()
    )


def readable(engram: Engram, name: str) -> Shown:
    """The entry that an agent names. Raises as `Engram.get`, NotFoundError for one that waits for a person."""
    shown = engram.get(name)
    _readable(shown, engram)
    return shown


def format_titles(found: Sequence[Lore]) -> str:
    """Entries by their titles, for a question."""
    titles = "; ".join(f"“{neutralize(lore.title, is_checked=False)}” ({lore.id})" for lore in found[:_NAMED])
    return titles + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def _readable(shown: Shown, engram: Engram) -> tuple[Tier, Counted]:
    """The tier of an entry that an agent asks for by name, and what it counts as.

    Raises NotFoundError for one that waits for a person.
    """
    from engram.usecases.history.origin import as_seen
    from engram.usecases.opening.scopes import reach

    _, trust, counts = as_seen(reach(engram.store, shown.scope), shown.lore)
    if trust.tier == QUARANTINED:
        raise NotFoundError(
            f"{shown.lore.id} waits for a person and is not shown to agents.",
            "A person can review it: `engram review`.",
        )
    return trust, counts


def status(state: dict[str, Any]) -> CallToolResult:
    """The state of the store, as `engram status` reports it, without what only a person looks for."""
    store, index, git, scope = state["store"], state["index"], state["git"], state["scopes"][0]["name"]
    notes = [index.get("message"), git.get("message"), state["embedding"].get("message")]
    if index["problems"]:
        notes.append(f"{index['problems']} files cannot be read as lore: run `engram doctor`")
    if git["conflicts"]:
        notes.append(f"disputed entries, which a person settles with `engram review`: {git['conflicts']}")
    if git["remotes"]:
        notes.append(_describe_sync(git["sync"], git["auto"]))
    data = results.Status(
        store=store["path"], scope=scope, placement=store["placement"], lore_count=state["lore_count"],
        by_category=state["by_category"], strategy=index.get("strategy", "scan"), pending=git["pending"],
        ahead=git["ahead"], behind=git["behind"], session_refs=state["session"]["surfaced"],
        notes=[note for note in notes if note],
    )  # fmt: skip
    lines = [
        f"{data.lore_count:,} entries in {data.store} ({data.scope}, {data.placement}); search: {data.strategy}",
        f"git: {data.pending} waiting, {data.ahead} ahead, {data.behind} behind; this session: {data.session_refs} refs",
        *data.notes,
    ]
    return answer("\n".join(lines), data)


def _describe_sync(last: dict[str, Any], auto: dict[str, Any]) -> str:
    """When this clone last exchanged lore with its remote, whether it does so by itself, and what waits."""
    when = f"last synced {last['succeeded']}" if last["succeeded"] else "never synced"
    failed = f"; failed {last['at']}: {last['error']['message']}" if last["error"] else ""
    waits = f"; a change of {auto['waiting_since']} is not sent yet" if auto["waiting_since"] else ""
    how = "by itself" if auto["on"] else "by hand" if auto["why"] else ""
    return f"{when}{f', {how}' if how else ''}{failed}{waits}"


def _says_something(value: object) -> bool:
    return value is not False and value not in ("", None, [])
