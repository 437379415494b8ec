"""The live record as lines: what was asked or done, below it the lore that were shown, and those that were withheld."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engram.domain.errors import EngramError
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram_tui.widgets.line_list import GOOD, QUIET, STRONG, WARN, Line, Part
from engram_tui.widgets.rows import count, fraction

if TYPE_CHECKING:
    from engram.adapters.state.activity_table import LiveEntry
    from engram.app import Engram

KEPT = 500  # entries on the screen
MOST_SHOWN = 8  # lore of one entry
TIME_CELLS, WHO_CELLS, SCORE_CELLS = 9, 13, 5
_RECALLS = ("query", "get", "brief")
LONG_MS = 10_000  # from here seconds say it better
_DONE = {
    "record": "recorded",
    "feedback": "judged",
    "get": "read",
    "forget": "forgot",
    "brief": "start of a session",
    "ask": "asked which lore helped",
    "capture": "kept what a hook handed in",
    "import": "imported",
    "sync": "synced",
    "edit": "edited",
    "skill": "ran a skill",
}
_STRENGTHS = {"strong": GOOD, "weak": WARN, "none": WARN}


def is_recall(entry: LiveEntry) -> bool:
    """Whether lore were put before somebody, or were to be."""
    return entry.action in _RECALLS


def is_missing(entry: LiveEntry) -> bool:
    """Whether somebody asked and something was missing: no answer, a weak one, or lore that were withheld."""
    return entry.action == "query" and (not entry.ids or entry.strength != "strong" or bool(entry.withheld))


CHOICES: tuple[tuple[str, Callable[[LiveEntry], bool]], ...] = (
    ("everything", lambda _entry: True),
    ("what was recalled", is_recall),
    ("where something was missing", is_missing),
)


class News(NamedTuple):
    """What came since the last look, and the titles of the lore in it, by id."""

    entries: Sequence[LiveEntry]
    titles: Mapping[str, str]


def read_news(store: Engram, since: int | None, known: Mapping[str, str]) -> News:
    """The entries after number `since` (None: the latest), and titles that are not known yet. Raises StoreError."""
    entries = store.live(since, KEPT)
    ids = {one for entry in entries for one in ids_in(entry)} - known.keys()
    return News(entries, read_titles(store, ids) if ids else {})


def ids_in(entry: LiveEntry) -> Iterator[str]:
    """Every lore that an entry names."""
    yield from entry.ids
    for withheld in entry.withheld:
        yield from withheld.ids


def read_titles(store: Engram, ids: set[str]) -> dict[str, str]:
    """The titles of lore, here or in another scope; of those that are nowhere any more there is none."""
    found: dict[str, str] = {}
    here = store.store.places.scope
    for name in (here, *(one for one in scopes.known(store.store) if one != here)):
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
    where = "id IN (SELECT value FROM json_each(?))"
    hits = consult(
        scopes.reach(store.store, scope),
        lambda generation: generation.catalog.select(where, (json.dumps(ids),)),
    )
    return {hit.id: hit.title for hit in hits}


def lines_of(entry: LiveEntry, titles: Mapping[str, str], narrow: bool) -> Iterator[Line]:
    """One entry: what was done, then the lore of it."""
    one = entry.ids[0] if len(entry.ids) == 1 and not is_recall(entry) else ""
    facts = _facts(entry, narrow)
    parts = [
        Part(f"{datetime.fromtimestamp(entry.at).astimezone():%H:%M:%S}", QUIET, TIME_CELLS),
        Part(who(entry), STRONG, WHO_CELLS),
        Part(_said(entry, titles, one)),
        Part(facts, _STRENGTHS.get(entry.strength, QUIET), cell_len(facts) + 1),
    ]
    yield Line(f"{entry.number}:", tuple(parts), one, group=str(entry.number))
    if one:
        return
    scores = [*entry.scores, *[None] * len(entry.ids)]
    for at, (lore_id, score) in enumerate(zip(entry.ids[:MOST_SHOWN], scores, strict=False)):
        said = "" if score is None else fraction(round(score * 1000))
        yield _lore_line(entry, f"s{at}", lore_id, said, titles)
    if len(entry.ids) > MOST_SHOWN:
        more = f"… and {count(len(entry.ids) - MOST_SHOWN)} more"
        yield Line(
            f"{entry.number}:more", (Part("", "", TIME_CELLS), Part(more, QUIET)), group=str(entry.number)
        )
    for number in range(len(entry.withheld)):
        yield _withheld_line(entry, number, titles)


def _lore_line(entry: LiveEntry, key: str, lore_id: str, score: str, titles: Mapping[str, str]) -> Line:
    parts = (
        Part("", "", TIME_CELLS),
        Part(score, "", SCORE_CELLS),
        Part(_title(lore_id, titles)),
    )
    return Line(f"{entry.number}:{key}", parts, lore_id if lore_id in titles else "", group=str(entry.number))


def _withheld_line(entry: LiveEntry, number: int, titles: Mapping[str, str]) -> Line:
    """Lore that were near and not shown, for one reason; where it is one, the line is about it."""
    withheld = entry.withheld[number]
    one = withheld.ids[0] if len(withheld.ids) == 1 and withheld.ids[0] in titles else ""
    why = f"withheld {len(withheld.ids) or ''}, {withheld.why}".replace(" ,", ",")
    parts = (
        Part("", "", TIME_CELLS),
        Part("·", QUIET, SCORE_CELLS),
        Part(why, WARN, cell_len(why) + 2),
        Part(" · ".join(_title(lore_id, titles) for lore_id in withheld.ids), QUIET),
    )
    return Line(f"{entry.number}:w{number}", parts, one, group=str(entry.number))


def _title(lore_id: str, titles: Mapping[str, str]) -> str:
    return titles.get(lore_id) or f"{lore_id[:10]}… is not here any more"


def who(entry: LiveEntry) -> str:
    """Who did it."""
    return entry.agent or "you"


def _said(entry: LiveEntry, titles: Mapping[str, str], lore_id: str) -> str:
    query = " ".join(entry.query.split())
    if entry.action == "query":
        return f"“{query}”"
    what = _DONE.get(entry.action, entry.action)
    subject = titles.get(lore_id, "") or query
    counts = ", ".join(
        f"{name.replace('_', ' ')} {number}" for name, number in entry.details.items() if number
    )
    return " · ".join(part for part in (what, subject, counts) if part)


def _facts(entry: LiveEntry, narrow: bool) -> str:
    """What it came to, at the end of its line."""
    if entry.action == "query":
        found = f"{count(len(entry.ids))} lore" if entry.ids else "nothing"
        strength = entry.strength if entry.strength not in ("", "none") else ""
    else:
        found, strength = (f"{count(len(entry.ids))} lore" if len(entry.ids) > 1 else ""), ""
    tokens = f"{count(entry.tokens)} tok" if entry.tokens and not narrow else ""
    took = f"{entry.took_ms:.0f} ms" if entry.took_ms >= 1 else ""
    took = f"{entry.took_ms / 1000:.0f} s" if entry.took_ms >= LONG_MS else took
    return " · ".join(part for part in (strength, found, tokens, took) if part)


def details_of(entry: LiveEntry, titles: Mapping[str, str]) -> tuple[str, ...]:
    """All about an entry: a title and lines."""
    asked = (
        entry.query if entry.action == "query" else f"{_DONE.get(entry.action, entry.action)} {entry.query}"
    )
    counts = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in entry.details.items())
    shown = f"{count(len(entry.ids))} lore shown, about {count(entry.tokens)} tokens"
    withheld = [
        line
        for one in entry.withheld
        for line in (f"withheld, {one.why}:", *(f"  · {_title(lore_id, titles)}" for lore_id in one.ids))
    ]
    return (
        asked.strip(),
        f"{datetime.fromtimestamp(entry.at).astimezone():%Y-%m-%d %H:%M:%S} · {who(entry)}, by {entry.via or 'an unknown way'}",
        f"session {entry.session}" if entry.session else "",
        f"answer: {entry.strength}, searched by {entry.strategy}" if entry.strategy else "",
        shown if entry.action == "query" else "",
        counts,
        f"took {entry.took_ms:.1f} ms" if entry.took_ms else "",
        *withheld,
    )
