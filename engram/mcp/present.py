"""The answers of the API as agents see them: as text and as data, both short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from engram.domain.admission.credit import EffectiveValues, as_dict
from engram.domain.admission.tiers import QUARANTINED, Tier
from engram.domain.agents.captured_notes import LEAD, as_lines, heading_of
from engram.domain.agents.framing import (
    IN_DATA,
    NOTICE,
    QUOTE,
    SEVERAL,
    WEAK,
    Fitted,
    frame,
    origin_of,
    quote,
    render,
    render_context,
    render_titles,
)
from engram.domain.agents.framing import render_whole as framed_whole
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
from engram.usecases.recall.captured_recall import find_captured
from engram.usecases.recall.search import has_rivals
from engram.usecases.recording.record import KNOWN, Recorded, describe_known
from engram.usecases.similarity.near_duplicates import Similar, describe_similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.find import Found
    from engram.usecases.recall.query import Answer
    from engram.usecases.recording.feedback import Judged

_NOTHING = "Nothing relevant is known here. Record what you find out, and end it with this question."
_MOST_TITLES = 5  # in a question
_WEAK_HITS = 3  # that a weak answer shows in any case
_WEAK_SHARE = 0.6  # of the best score that further hits of a weak answer need
_MOST_TWINS = 2
CHOICES = "If one says the same, record yours again with same_as; if yours replaces it, with supersedes; else leave both."
_FIELD_NAME_TOKENS = 20  # of an answer
_INTERNAL_FIELDS = frozenset(
    "votes conflicts settled source_id sources importance title state agent author confirmed".split()  # noqa: SIM905 - names
)


def present_answer(engram: Engram, answered: Answer) -> CallToolResult:
    """Present the answer to a query, within `recall.budget` tokens."""
    answered = drop_stragglers(answered)
    notes = [SEVERAL] if answered.strength == ranking.WEAK and has_rivals(answered.lore) else []
    notes += answered.notes
    notes += [
        f"{hit.ref} is one step away, by way of {neutralize(hit.via)}." for hit in answered.lore if hit.via
    ]
    return present_entries(engram, answered, notes, _NOTHING, answered.query)


def add_captured(engram: Engram, result: CallToolResult, question: str) -> CallToolResult:
    """Append the captured entries that match the question to an answer: at most two, marked as unconfirmed."""
    found = find_captured(engram.store, question)
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
    answered = first.text if isinstance(first, TextContent) else ""
    text = TextContent(type="text", text="\n\n".join([answered, "\n".join(lines)]))
    return CallToolResult(content=[text], structured_content=data)


def drop_stragglers(answered: Answer) -> Answer:
    """Drop the hits of a weak answer after the third that score far below the first."""
    if answered.strength != ranking.WEAK:
        return answered
    least = _WEAK_SHARE * answered.lore[0].score.total
    hits = [hit for rank, hit in enumerate(answered.lore) if rank < _WEAK_HITS or hit.score.total >= least]
    return answered._replace(lore=tuple(hits))


def present_entries(
    engram: Engram, answered: Answer | Found, notes: Sequence[str], nothing: str, question: str = ""
) -> CallToolResult:
    """Present the lore of an answer within `recall.budget` tokens, after the notes; `nothing` is the text if there is none."""
    fitted = frame_answer(engram, answered, question, notes)
    remember(engram.store, fitted.items, is_recalled=bool(question))
    strength = "" if answered.strength == ranking.STRONG else answered.strength
    rows = [
        results.FoundLore(ref=item.ref, about=item.about, text=item.body, context=item.context)
        for item in fitted.items
    ]
    data = results.Found(
        strength=strength, notice=IN_DATA if rows else nothing, lore=rows, also=dict(fitted.also), notes=list(notes)
    )  # fmt: skip
    lines = [NOTICE if rows else nothing, *_doubt(answered, notes), *notes]
    return answer(format_answer(fitted, lines), data)


def _doubt(answered: Answer | Found, notes: Sequence[str]) -> list[str]:
    """Return the warning of a weak answer, unless a note says that several entries match."""
    return [WEAK] if answered.strength == ranking.WEAK and SEVERAL not in notes else []


def format_answer(fitted: Fitted, lines: Sequence[str]) -> str:
    """Return the text of an answer: Engram's own lines, then the lore."""
    shown = ["\n".join(filter(None, (render(item), render_context(item)))) for item in fitted.items]
    parts = ["\n".join(lines), *shown, render_titles(fitted.also)]
    return "\n\n".join(part for part in parts if part)


def frame_answer(
    engram: Engram, answered: Answer | Found, question: str, notes: Sequence[str] = ()
) -> Fitted:
    """Frame the lore of an answer for an agent, within `recall.budget` tokens including `notes`."""
    from engram.usecases.history.origin import effective_entry
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.recall.passage_similarity import nearness

    store = engram.store
    seen = [(hit.ref, *effective_entry(open_scope_of(store, hit.scope), hit.lore)) for hit in answered.lore]
    preamble = [NOTICE, *_doubt(answered, notes), *(f'"{note}",' for note in notes)]
    used = tokens("".join(preamble)) + _FIELD_NAME_TOKENS
    near = nearness(store, question) if question else None
    return frame(seen, int(store.settings.number("recall.budget")) - used, store.clock.now(), question, near)


def present_recorded(engram: Engram, done: Recorded) -> CallToolResult:
    """Present a recorded or known entry, and near duplicates with what to do about them."""
    lore, known = done.lore, done.status == KNOWN
    outcome = "Already known:" if known else "Recorded"
    note = _own_store_note(engram, done)
    lines = [f"{outcome} {lore.id} · {lore.category} · {done.scope}: {done.path}"]
    lines += [quote(_readable_text(engram, lore.id, lore.title)), describe_known(done)] if known else []
    lines += [note, f"Masked {done.redacted} secret(s)." if done.redacted else ""]
    lines = list(filter(None, lines))
    twins = [_twin(engram, twin) for twin in done.similar[:_MOST_TWINS]]
    for near, twin in zip(done.similar, twins, strict=False):
        lines += [f"{neutralize(describe_similarity(near), is_checked=False)}:", quote(twin.text)]
    lines += [CHOICES] if twins and not known else []
    data = results.Recorded(
        id=lore.id, category=lore.category, confidence=lore.confidence, path=done.path, redacted=done.redacted,
        similar=twins, scope=done.scope, status=done.status, note=note,
    )  # fmt: skip
    return answer("\n".join(lines), data)


def _twin(engram: Engram, twin: Similar) -> results.Similar:
    title, text = (_readable_text(engram, twin.id, text) for text in (twin.title, twin.content))
    differs = neutralize(twin.differs, is_checked=False)
    return results.Similar(id=twin.id, similarity=twin.similarity, title=title, text=text, differs=differs)


def _own_store_note(engram: Engram, done: Recorded) -> str:
    """Return a note if the entry went to the user's own store only because the project has none, else ""."""
    stand = engram.store.stand
    if done.scope != USER or stand.scope != USER or stand.named:
        return ""
    return "This is the user's own store, as the project has none: `engram init` there makes one, then promote it."


def _readable_text(engram: Engram, lore_id: str, text: str) -> str:
    """Return text of an entry as an agent may read it."""
    try:
        trust, _ = _check_readable(engram.get(lore_id), engram)
    except EngramError:
        return "(it waits for a person)"
    return neutralize(text, lines=True, is_checked=trust.is_checked)


def entry_data(shown: Shown, engram: Engram) -> dict[str, Any]:
    """Return the fields of an entry that have a value, as data. Raises NotFoundError if it waits for a person."""
    trust, counts = _check_readable(shown, engram)
    fields = as_dict(shown.lore, shown.path, counts)
    values = {
        "ref": shown.ref,
        **fields,
        "pinned": counts.pinned,
        "tier": counts.earned.words(engram.store.clock.now()),
        "trust": trust.tier,
        "origin": origin_of(shown.lore, engram.store.source_id),
    }
    return {
        name: neutralize_data(value, is_checked=trust.is_checked)
        for name, value in values.items()
        if name not in _INTERNAL_FIELDS and value is not False and value not in ("", None, [])
    }


def is_readable(engram: Engram, shown: Shown) -> bool:
    """Return whether an agent may see an entry."""
    try:
        return bool(_check_readable(shown, engram))
    except NotFoundError:
        return False


def present_whole(engram: Engram, shown: Sequence[Shown]) -> CallToolResult:
    """Present entries in full, and note that in the activity log."""
    from engram.usecases.store import activity_log

    texts = [whole_text(entry, engram) for entry in shown]
    activity_log.note(
        engram.store, "get", ids=[entry.lore.id for entry in shown], tokens=sum(map(tokens, texts))
    )
    data = results.Whole(notice=NOTICE, lore=[entry_data(entry, engram) for entry in shown])
    return answer("\n\n".join([NOTICE, *texts]), data)


def present_feedback(done: Sequence[Judged]) -> CallToolResult:
    """Present the results of feedback."""
    from engram.usecases.recording.feedback import describe

    updated = [results.Judgement(**judgement._asdict()) for judgement in done]
    return answer("\n".join(map(describe, done)), results.Judged(updated=updated))


def whole_text(shown: Shown, engram: Engram) -> str:
    """Return an entry with its fields, as text. Raises NotFoundError if it waits for a person."""
    return framed_whole(
        shown.ref, shown.lore, shown.path, *_check_readable(shown, engram), engram.store.clock.now()
    )


def get_readable(engram: Engram, name: str) -> Shown:
    """Return the entry that an agent names. Raises as `Engram.get`, and NotFoundError if it waits for a person."""
    shown = engram.get(name)
    _check_readable(shown, engram)
    return shown


def format_titles(found: Sequence[Lore]) -> str:
    """List entries by title, for a question."""
    listed = [f"“{neutralize(lore.title, is_checked=False)}” ({lore.id})" for lore in found[:_MOST_TITLES]]
    more = f" and {len(found) - _MOST_TITLES} more" if len(found) > _MOST_TITLES else ""
    return "; ".join(listed) + more


def _check_readable(shown: Shown, engram: Engram) -> tuple[Tier, EffectiveValues]:
    """Return the tier of an entry and what counts for it. Raises NotFoundError if it waits for a person."""
    from engram.usecases.history.origin import effective_entry
    from engram.usecases.opening.scopes import open_scope_of

    _, trust, counts = effective_entry(open_scope_of(engram.store, shown.scope), shown.lore)
    if trust.tier == QUARANTINED:
        raise NotFoundError(
            f"{shown.lore.id} waits for a person and is not shown to agents.",
            "A person can review it: `engram review`.",
        )
    return trust, counts


def present_status(state: dict[str, Any]) -> CallToolResult:
    """Present the state of the store, as `engram status` reports it, without what matters only to people."""
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
    """Describe the last sync of this clone, whether it syncs by itself, and what waits."""
    when = f"last synced {last['succeeded']}" if last["succeeded"] else "never synced"
    failed = f"; failed {last['at']}: {last['error']['message']}" if last["error"] else ""
    waits = f"; a change of {auto['waiting_since']} is not sent yet" if auto["waiting_since"] else ""
    how = "by itself" if auto["on"] else "by hand" if auto["why"] else ""
    return f"{when}{f', {how}' if how else ''}{failed}{waits}"
