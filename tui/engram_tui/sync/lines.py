"""Format the texts of the sync screen: its lines of facts, and its list of entries with the change of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engram.domain.entry import change_phrase, times
from engram.domain.text.counted_nouns import elapsed
from engram.usecases.store.store import DEDICATED
from engram_tui.shell.frame import NARROW
from engram_tui.widgets.entry_list import fit
from engram_tui.widgets.format import count, format_age
from engram_tui.widgets.line_list import BAD, GOOD, QUIET, STRONG, WARN, Line, Part

if TYPE_CHECKING:
    from engram.adapters.git.remote.remotes import Remote
    from engram.app import Engram
    from engram.usecases.sync.auto_state import AutoState
    from engram.usecases.sync.sync import Synced
    from engram.usecases.sync.traffic import Exchange, LoreChange, Waiting

MAX_CAME_IN = 100  # lines of the timeline
SIGN_CELLS = 2
AGE_CELLS = 8
MAX_PHRASE = 38
MIN_PHRASE = 12
TITLES = 44  # cells of a line that its phrase leaves to the rest, if possible
_SIGNS = {
    change_phrase.NEW: ("+", GOOD),
    change_phrase.CHANGED: ("~", ""),
    change_phrase.MERGED: ("⋎", ""),
    change_phrase.FOLDED: ("⊂", ""),
    change_phrase.CONFLICT: ("!", WARN),
    change_phrase.FORGOTTEN: ("−", BAD),
}
_PRECEDENCE = (
    change_phrase.CONFLICT, change_phrase.FORGOTTEN, change_phrase.MERGED, change_phrase.FOLDED, change_phrase.NEW,
    change_phrase.CHANGED,
)  # fmt: skip


class View(NamedTuple):
    """The content of the screen: remotes, what waits, what came in lately, and how the last sync ended."""

    remotes: Sequence[Remote]
    exchange: Exchange
    came_in: Sequence[LoreChange]
    ahead: int
    behind: int
    last: dict[str, object]
    is_own: bool  # whether the repository is Engram's own, and so are its remotes
    auto: AutoState


class Result(NamedTuple):
    """The result of a sync that was started here: its numbers (None: cancelled or failed) and the entries that came in."""

    done: Synced | None
    arrived: tuple[LoreChange, ...]


def read_view(store: Engram) -> View:
    """Read the content of the screen. Raises UsageError (nothing to sync), StoreError, GitError."""
    from engram.usecases.store.sync_state import distance, last
    from engram.usecases.sync.auto_state import auto_state

    exchange = store.exchange()
    ahead, behind = distance(store.store)
    return View(
        remotes=store.remotes(),
        exchange=exchange,
        came_in=store.came_in(MAX_CAME_IN),
        ahead=ahead,
        behind=behind,
        last=last(store.store),
        is_own=store.store.places.placement == DEDICATED,
        auto=auto_state(store.store),
    )


def where_line(view: View) -> str:
    """Say which remote this clone syncs with, and how far ahead and behind it is."""
    found = view.exchange
    if not view.remotes:
        hint = "+ adds one, to share this store" if view.is_own else "the remotes of your repository are used"
        return f"{found.branch or 'no branch'} · no remote yet: {hint}"
    remote = next((remote for remote in view.remotes if remote.name == found.remote), None)
    if remote is None:
        return f"{len(view.remotes)} remotes and no default one: S asks which"
    distance_text = f" ↑{view.ahead} ↓{view.behind}" if view.ahead or view.behind else ""
    unknown = "" if found.known else " · not synced with it yet"
    waits = f" · {count(found.uncommitted)} not committed yet" if found.uncommitted else ""
    return f"{found.branch}{distance_text}{unknown}{waits} · {remote.name} {remote.url}"


def last_line(view: View, now: float) -> tuple[str, bool]:
    """Say how the last sync ended, and whether it failed."""
    last, error = view.last, view.last["error"]
    if not view.remotes:
        return "", False  # a sync that failed for want of a remote says nothing more
    auto = _describe_auto_sync(view, now)
    if not isinstance(last["at"], str):
        return f"Never synced from here.{auto}", False
    when = _ago(last["at"], now)
    if not isinstance(error, dict):
        return f"Last sync {when} with {last['remote']}, without errors.{auto}", False
    failures = int(str(last["failures"]))
    times_ = f", {failures} times in a row" if failures > 1 else ""
    good = (
        f" The last successful one was {_ago(last['succeeded'], now)}."
        if isinstance(last["succeeded"], str)
        else ""
    )
    message = f"{error.get('message', '')} {error.get('hint', '')}"
    return f"The last sync failed {when}{times_}: {message}{good}{auto}", True


def _describe_auto_sync(view: View, now: float) -> str:
    """Say that the store syncs by itself, and since when a change waits for that; "" if it does not."""
    auto = view.auto
    if not auto.on:
        return ""
    waits = f"; a change of {_ago(auto.waiting_since, now)} is not sent yet" if auto.waiting_since else ""
    return f" It syncs by itself{waits}."


def _ago(moment: str, now: float) -> str:
    return format_age(times.parse(moment), now)


def result_sentence(result: Result, waiting: int = 0) -> str:
    """Say what a sync did, and whether anything needs the user; `waiting` items were in the Inbox before."""
    done = result.done
    if done is None:
        return "Nothing came in."
    parts = [
        f"{count(done.pulled)} pulled" if done.pulled else "",
        f"{count(done.pushed)} pushed" if done.pushed else "",
        f"{count(done.merged)} merged by field" if done.merged else "",
        f"{count(done.folded)} merged into entries that say the same" if done.folded else "",
        "judgements received" if done.received_judgements else "",
        "judgements sent" if done.sent_judgements else "",
    ]
    summary = ", ".join(part for part in parts if part) or "Nothing new on either side"
    todo = [
        f"{count(done.conflicts)} kept for review" if done.conflicts else "",
        f"{count(len(done.alike))} nearly the same" if done.alike else "",
        f"{count(done.held)} in quarantine until you accept them" if done.held else "",
    ]
    waits = ", ".join(part for part in todo if part)
    nothing = "Nothing new needs you." if waiting else "Nothing needs you."
    return f"{summary}. {f'For you: {waits}.' if waits else nothing}"


def lines_of(view: View, result: Result | None, now: float, cells: int) -> list[Line]:
    """Return the lines of the list: what the last sync here did, what waits both ways, what came in."""
    found = view.exchange
    lines: list[Line] = []
    if result is not None and result.arrived:
        title = f"This sync · {count(len(result.arrived))} came in"
        lines += _section("result", title, result.arrived, now, cells)
    if found.remote and not (found.outgoing.total or found.incoming.total) and found.known:
        lines += [
            *_gap(lines),
            Line("even", (Part("Both sides are equal: nothing waits", STRONG),), heading=True),
        ]
    elif found.remote:
        lines += [*_gap(lines), *_waiting("out", "To push", found.outgoing, now, cells)]
        lines += [*_gap(lines), *_waiting("in", "To pull", found.incoming, now, cells)]
    shown = {(change.id, change.commit) for change in result.arrived} if result else set()
    earlier = [change for change in view.came_in if (change.id, change.commit) not in shown]
    if earlier:
        lines += [*_gap(lines), *_section("came", "Came in", earlier, now, cells)]
    return lines


def _gap(lines: Sequence[Line]) -> list[Line]:
    """Return an empty line if there are lines above it."""
    return [Line(f"gap:{len(lines)}", (Part(""),), heading=True)] if lines else []


def _waiting(name: str, title: str, waiting: Waiting, now: float, cells: int) -> Iterator[Line]:
    yield from _section(
        name, f"{title} · {count(waiting.total) if waiting.total else 'nothing'}", waiting.lore, now, cells
    )
    more = waiting.total - len(waiting.lore)
    if more > 0:
        yield Line(f"{name}:more", (Part(f"… and {count(more)} more", QUIET),), heading=True)


def _section(name: str, title: str, changes: Sequence[LoreChange], now: float, cells: int) -> Iterator[Line]:
    yield Line(f"{name}:", (Part(title, STRONG),), heading=True)
    for at, change in enumerate(changes):
        yield _line(f"{name}:{at}:{change.commit}:{change.id}", change, now, cells)


def _line(key: str, change: LoreChange, now: float, cells: int) -> Line:
    """Format a change: sign and title, then the phrase and the age, aligned right."""
    sign, style = _SIGNS.get(change.kind, ("·", ""))
    is_forgotten = change.kind == change_phrase.FORGOTTEN
    phrase = change.phrase
    if cells < NARROW or change.kind == change_phrase.CHANGED:
        phrase = phrase.partition(" by ")[0]  # the note above the entry says who did it
    limit = min(MAX_PHRASE, max(MIN_PHRASE, cells - TITLES))
    phrase = fit(phrase, min(limit, cell_len(phrase)))
    parts = [
        Part(sign, style, SIGN_CELLS),
        Part(change.title, QUIET if is_forgotten else ""),
        Part(phrase, style or QUIET, cell_len(phrase) + 1),
    ]
    if change.at:
        parts.append(Part(f"{elapsed(now - change.at):>{AGE_CELLS - 1}}", QUIET, AGE_CELLS))
    return Line(key, tuple(parts), "" if is_forgotten else change.id)


def change_line(change: LoreChange) -> str:
    """Format a change in a line: what, who, when, and the commit."""
    when = f"{datetime.fromtimestamp(change.at).astimezone():%Y-%m-%d %H:%M}" if change.at else ""
    who = " on ".join(part for part in (change.who, change.machine) if part)
    return " · ".join(part for part in (change.phrase, who, when, change.commit[:10]) if part)


def details_of(change: LoreChange) -> tuple[str, ...]:
    """Return the lines to show for an entry that no longer exists: its title, the change, its path."""
    return change.title, change_line(change), change.path


def one_per_entry(changes: Sequence[LoreChange]) -> tuple[LoreChange, ...]:
    """Keep the most important change of each entry, the newest of equal ones, in the given order."""
    chosen: dict[str, LoreChange] = {}
    for change in changes:
        known = chosen.get(change.id)
        if known is None or _PRECEDENCE.index(change.kind) < _PRECEDENCE.index(known.kind):
            chosen[change.id] = change
    return tuple(change for change in changes if chosen[change.id] is change)


def empty_lines(view: View) -> tuple[str, ...]:
    """Return the placeholder of an empty list."""
    if view.remotes:
        return (
            "Nothing to push, and nothing was pulled yet.",
            "",
            "S syncs, d only checks the remote for changes.",
        )
    if not view.is_own:
        return (
            "This store has no remote.",
            "",
            "It uses the remotes of your repository:",
            "git remote add origin URL",
            "Then S syncs; nothing else is needed.",
        )
    return (
        "This store has no remote.",
        "",
        "+ adds one: any git repository that you and others can reach,",
        "for example git@example.org:team/lore.git or a folder on a shared disk.",
        "Then S syncs; nothing else is needed.",
    )
