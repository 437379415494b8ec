"""The activity log as lines: what was asked or done, and below it the entries that were shown or withheld."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engram.domain.entry.people import byline, short_byline
from engram.domain.errors import EngramError
from engram.domain.text.counted_nouns import entries
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes
from engram.usecases.store import people
from engram_tui.widgets.format import count, fraction
from engram_tui.widgets.line_list import GOOD, QUIET, STRONG, WARN, Line, Part

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import ActivityLine
    from engram.app import Engram

MAX_EVENTS = 500
MAX_SHOWN = 8  # entries of one event
TIME_CELLS, SCORE_CELLS = 9, 5
MAX_WHO_CELLS = 21
_RECALLS = ("query", "get", "brief")
LONG_MS = 10_000  # from which a duration is shown in seconds
_DONE = {
    "record": "recorded",
    "feedback": "judged",
    "get": "read",
    "forget": "forgot",
    "brief": "start of a session",
    "ask": "asked which entries helped",
    "late": "gave up: it took too long",
    "capture": "captured what a hook sent",
    "import": "imported",
    "sync": "synced",
    "edit": "edited",
    "skill": "ran a skill",
    "link": "linked",
}
_STRENGTHS = {"strong": GOOD, "weak": WARN, "none": WARN}


def is_recall(event: ActivityLine) -> bool:
    """Return whether entries were shown to somebody, or should have been."""
    return event.action in _RECALLS


def is_missing(event: ActivityLine) -> bool:
    """Return whether a query got no or only a weak answer, or had entries withheld."""
    return event.action == "query" and (not event.ids or event.strength != "strong" or bool(event.withheld))


CHOICES: tuple[tuple[str, Callable[[ActivityLine], bool]], ...] = (
    ("everything", lambda _event: True),
    ("recalls", is_recall),
    ("missing or weak answers", is_missing),
)


class News(NamedTuple):
    """New events, the titles of their entries by id, and the name of this clone's user."""

    events: Sequence[ActivityLine]
    titles: Mapping[str, str]
    person: str


def read_news(store: Engram, since: int | None, known: Mapping[str, str]) -> News:
    """Read the events after number `since` (None: the latest), and titles that are not known yet. Raises StoreError."""
    events = store.live(since, MAX_EVENTS)
    ids = {entry_id for event in events for entry_id in ids_in(event)} - known.keys()
    return News(events, read_titles(store, ids) if ids else {}, people.own_name(store.store))


def ids_in(event: ActivityLine) -> Iterator[str]:
    """Yield the ids of all entries of an event."""
    yield from event.ids
    for withheld in event.withheld:
        yield from withheld.ids


def read_titles(store: Engram, ids: set[str]) -> dict[str, str]:
    """Read the titles of entries in this or another scope; entries that no longer exist have none."""
    found: dict[str, str] = {}
    here = store.store.places.scope
    for name in (here, *(scope for scope in scopes.reachable_scopes(store.store) if scope != here)):
        missing = ids - found.keys()
        if not missing:
            break
        try:
            if scopes.exists(store.store, name):
                found |= _titles_in(store, name, sorted(missing))
        except EngramError:
            continue
    return found


def _titles_in(store: Engram, scope: str, ids: Sequence[str]) -> dict[str, str]:
    condition = "id IN (SELECT value FROM json_each(?))"
    hits = query_index(
        scopes.open_scope_of(store.store, scope),
        lambda generation: generation.catalog.select(condition, (json.dumps(ids),)),
    )
    return {hit.id: hit.title for hit in hits}


def who_cells(events: Iterable[ActivityLine], person: str, width: int) -> int:
    """Return the cells of the column of names on a terminal of this width."""
    limit = min(MAX_WHO_CELLS, width // 6 + 1)
    names = {short_byline(agent, person, limit - 1) for agent in {event.agent for event in events}}
    return min(limit, max(map(cell_len, names), default=0) + 1)


def lines_of(
    event: ActivityLine, titles: Mapping[str, str], person: str, narrow: bool, cells: int
) -> Iterator[Line]:
    """Yield the lines of an event: what was done, by whom (a column of `cells`), then its entries."""
    only_id = event.ids[0] if len(event.ids) == 1 and not is_recall(event) else ""
    facts = _facts(event, narrow)
    parts = [
        Part(f"{datetime.fromtimestamp(event.at).astimezone():%H:%M:%S}", QUIET, TIME_CELLS),
        Part(short_byline(event.agent, person, cells - 1), STRONG, cells),
        Part(_describe(event, titles, only_id)),
        Part(facts, _STRENGTHS.get(event.strength, QUIET), cell_len(facts) + 1),
    ]
    yield Line(f"{event.number}:", tuple(parts), only_id, group=str(event.number))
    if only_id:
        return
    scores = [*event.scores, *[None] * len(event.ids)]
    for index, (entry_id, score) in enumerate(zip(event.ids[:MAX_SHOWN], scores, strict=False)):
        score_text = "" if score is None else fraction(round(score * 1000))
        yield _entry_line(event, f"s{index}", entry_id, score_text, titles)
    if len(event.ids) > MAX_SHOWN:
        more = f"… and {count(len(event.ids) - MAX_SHOWN)} more"
        yield Line(
            f"{event.number}:more", (Part("", "", TIME_CELLS), Part(more, QUIET)), group=str(event.number)
        )
    for number in range(len(event.withheld)):
        yield _withheld_line(event, number, titles)


def _entry_line(event: ActivityLine, key: str, entry_id: str, score: str, titles: Mapping[str, str]) -> Line:
    parts = (Part("", "", TIME_CELLS), Part(score, "", SCORE_CELLS), Part(_title(entry_id, titles)))
    return Line(
        f"{event.number}:{key}", parts, entry_id if entry_id in titles else "", group=str(event.number)
    )


def _withheld_line(event: ActivityLine, number: int, titles: Mapping[str, str]) -> Line:
    """Format the entries that were withheld for one reason; if there is only one, the line is about it."""
    withheld = event.withheld[number]
    only_id = withheld.ids[0] if len(withheld.ids) == 1 and withheld.ids[0] in titles else ""
    why = f"withheld {len(withheld.ids) or ''}, {withheld.why}".replace(" ,", ",")
    parts = (
        Part("", "", TIME_CELLS),
        Part("·", QUIET, SCORE_CELLS),
        Part(why, WARN, cell_len(why) + 2),
        Part(" · ".join(_title(entry_id, titles) for entry_id in withheld.ids), QUIET),
    )
    return Line(f"{event.number}:w{number}", parts, only_id, group=str(event.number))


def _title(entry_id: str, titles: Mapping[str, str]) -> str:
    return titles.get(entry_id) or f"{entry_id[:10]}… no longer exists"


def _describe(event: ActivityLine, titles: Mapping[str, str], entry_id: str) -> str:
    query = " ".join(event.query.split())
    if event.action == "query":
        return f"“{query}”"
    what = _DONE.get(event.action, event.action)
    subject = titles.get(entry_id, "") or query
    counts = ", ".join(
        f"{name.replace('_', ' ')} {number}" for name, number in event.details.items() if number
    )
    return " · ".join(part for part in (what, subject, counts) if part)


def _facts(event: ActivityLine, narrow: bool) -> str:
    """Format the result for the end of the line."""
    if event.action == "query":
        found = entries(len(event.ids)) if event.ids else "nothing"
        strength = event.strength if event.strength not in ("", "none") else ""
    else:
        found, strength = (entries(len(event.ids)) if len(event.ids) > 1 else ""), ""
    tokens = f"{count(event.tokens)} tok" if event.tokens and not narrow else ""
    duration = f"{event.took_ms:.0f} ms" if event.took_ms >= 1 else ""
    duration = f"{event.took_ms / 1000:.0f} s" if event.took_ms >= LONG_MS else duration
    return " · ".join(part for part in (strength, found, tokens, duration) if part)


def details_of(event: ActivityLine, titles: Mapping[str, str], person: str) -> tuple[str, ...]:
    """Return the details of an event: a title and lines."""
    asked = (
        event.query if event.action == "query" else f"{_DONE.get(event.action, event.action)} {event.query}"
    )
    counts = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in event.details.items())
    shown = f"{entries(len(event.ids))} shown, about {count(event.tokens)} tokens"
    withheld = [
        line
        for group in event.withheld
        for line in (
            f"withheld, {group.why}:",
            *(f"  · {_title(entry_id, titles)}" for entry_id in group.ids),
        )
    ]
    at = datetime.fromtimestamp(event.at).astimezone()
    via = f", via {event.via}" if event.via else ""
    return (
        asked.strip(),
        f"{at:%Y-%m-%d %H:%M:%S} · {byline(event.agent, person)}{via}",
        f"session {event.session}" if event.session else "",
        f"answer: {event.strength}, searched by {event.strategy}" if event.strategy else "",
        shown if event.action == "query" else "",
        counts,
        f"took {event.took_ms:.1f} ms" if event.took_ms else "",
        *withheld,
    )
