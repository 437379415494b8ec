"""`engram status`: show the state of the store."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.domain.entry.times import parse
from engram.domain.text.counted_nouns import counted, elapsed, entries
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import BRANCH, DEDICATED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Any


DESCRIPTION = "Show the state of the store: its entries, index, git and embedding."
EXAMPLES = ("engram status", "engram status --json")
_WIDTH = 80
_INDENT = 11
ARGUMENTS = ()


def run(call: Call) -> int:
    from engram.usecases.upkeep.status import status

    found: Any = status(call.store)
    call.output.document(found)
    if not call.output.json:
        call.output.say(f"{found['store']['path']}  ({found['store']['placement']})")
        width = min(call.output.width, _WIDTH)
        for name, text in _parts(found, call.store.clock.now()):
            call.output.say(*_wrap(name, text, width))
        call.mention_own_store()
    return 0


def _parts(found: Any, now: datetime) -> Iterator[tuple[str | None, str]]:
    """Yield the state as (label, text): label "" continues the one before, None is for the store itself."""
    git, placement, session = found["git"], found["store"]["placement"], found["session"]
    yield from _content_parts(found)
    yield from _scope_parts(found)
    yield from _index_parts(found["index"])
    branch = f"{git['branch'] or 'no branch'} {(git['head'] or '')[:10] or 'without commits'}"
    waiting = f", {counted(git['pending'], 'change waits', 'changes wait')} to be committed"
    yield "git", (git["message"] or branch) + (waiting if git["pending"] else "")
    if git["unsigned"]:
        yield "", f"commits are not signed, though git is to sign them: {git['unsigned']}"
    elif git["unsigned_merges"]:
        yield "", "git is to sign commits: merges and proposals are not signed"
    if placement in (DEDICATED, BRANCH):
        yield from _sync_parts(git, placement, now)
    elif git["sync"] and git["sync"]["at"]:  # in-tree: judgements alone
        yield from _last_parts(git, now, "sync", "judgements last exchanged")
    if git["conflicts"]:
        disputed = counted(git["conflicts"], "entry is", "entries are")
        yield "disputed", f"{disputed} disputed: engram review --kind conflict"
    if git["proposals"]:
        proposals = counted(len(git["proposals"]), "proposal waits", "proposals wait")
        own = f", {git['proposed']} is yours" if git["proposed"] in git["proposals"] else ""
        yield "proposals", f"{proposals} to be reviewed{own}: engram propose --list"
    if found["review"]["waiting"]:
        items = counted(found["review"]["waiting"], "item waits", "items wait")
        yield "inbox", f"{items} for you: engram review"
    yield from _judgement_parts(found["judgements"])
    yield "embedding", _embedding(found["embedding"])
    if found["trust"]["held"]:
        held = counted(found["trust"]["held"], "entry is", "entries are")
        yield "trust", f"{held} quarantined: engram trust list"
    yield from _settings_parts(found["settings"])
    yield "session", f"{session['name']}, {entries(session['surfaced'])} shown"


def _content_parts(found: Any) -> Iterator[tuple[None, str]]:
    """Yield the numbers of entries and entities."""
    entities = found["entities"]
    kinds = ", ".join(f"{count} {name}" for name, count in list(found["by_category"].items())[:4])
    so_far = "" if found["index"]["ok"] else " known so far"
    yield None, f"{entries(found['lore_count'])}{so_far}{': ' + kinds if kinds else ''}"
    if entities["count"] or entities["problems"]:
        text = counted(entities["count"], "entity", "entities")
        if entities["problems"]:
            text += f", {counted(entities['problems'], 'file')} with problems: engram doctor"
        yield None, text


def _judgement_parts(judgements: Any) -> Iterator[tuple[str, str]]:
    """Yield the number of judgements, if there are any."""
    if not judgements["lines"] and not judgements["unreadable"]:
        return
    text = f"{judgements['lines']:,} in the ledger"
    if judgements["unreadable"]:
        text += f", and {judgements['unreadable']:,} that cannot be read"
    if judgements["published"] != "yes":
        text += "; yours stay in this clone (judgements.publish)"
    yield "judgements", text


def _settings_parts(settings: Any) -> Iterator[tuple[str, str]]:
    """Yield the settings of the store's file that are not in force here."""
    if settings["message"]:
        yield "settings", settings["message"]
    if settings["held_back"]:
        keys = ", ".join(setting["key"] for setting in settings["held_back"])
        yield "settings", f"changed elsewhere and not accepted here: {keys}"
        yield "", "engram doctor says what, engram config --accept takes it"


def _scope_parts(found: Any) -> Iterator[tuple[str, str]]:
    others = [scope for scope in found["scopes"] if not scope["here"]]
    if others:
        listed = ", ".join(f"{scope['name']} has {entries(scope['lore_count'])}" for scope in others)
        yield "scopes", f"{listed}: engram scope list"
    past = sum(
        scope["past_retention"] for scope in found["scopes"] if scope["path"] == found["store"]["path"]
    )
    if past:
        text = f"{counted(past, 'entry is', 'entries are')} past retention and not recalled"
        yield "" if others else "scopes", text


def _index_parts(index: Any) -> Iterator[tuple[str, str]]:
    yield "index", f"ready, {index.get('strategy', '')}" if index["ok"] else index["message"]
    if index["problems"]:
        yield "", f"{counted(index['problems'], 'file')} cannot be recalled: engram doctor"
    if index["waiting_for_adoption"]:
        waiting = counted(index["waiting_for_adoption"], "file has", "files have")
        yield "", f"{waiting} no fields yet: engram adopt"


def _sync_parts(git: Any, placement: str, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield what waits to be pushed and pulled, and the result of the last sync."""
    from engram.usecases.store.remote import how_to_add

    if not git["remotes"]:
        yield "sync", f"no remote yet: {how_to_add(placement)}"
    elif git["sync"]["at"] is None:
        yield "sync", f"never synced with {git['remotes'][0]}: engram sync"
    else:
        ahead = ("ahead", "proposed" if git["proposed"] else "to push")
        parts = [ahead, ("behind", "to pull")]
        behind_or_ahead = [f"{counted(git[key], 'commit')} {what}" for key, what in parts if git[key]]
        hint = "" if git["proposed"] and not git["behind"] else ": engram sync"
        yield "sync", f"{', '.join(behind_or_ahead)}{hint}" if behind_or_ahead else "nothing to push or pull"
        yield from _last_parts(git, now, "", "last synced")


def _last_parts(git: Any, now: datetime, name: str, did: str) -> Iterator[tuple[str, str]]:
    """Yield when the last sync succeeded, why a later one failed, and the state of automatic sync."""
    last, auto = git["sync"], git["auto"]
    if last["succeeded"]:
        yield name, f"{did} with {last['remote']} {_ago(last['succeeded'], now)}"
    if last["error"]:
        failures = last["failures"]
        times = f" ({failures} times in a row)" if failures > 1 else ""
        text = f"failed {_ago(last['at'], now)}{times}: {last['error']['message']}"
        yield "" if last["succeeded"] else name, text
        yield "", last["error"]["hint"]
    if auto["on"] and auto["waiting_since"]:
        yield "", f"a change made {_ago(auto['waiting_since'], now)} will be synced by itself"
    if not auto["on"] and auto["why"]:
        yield "", f"it does not sync by itself: {auto['why']}"


def _ago(moment: str, now: datetime) -> str:
    since = elapsed(max((now - parse(moment)).total_seconds(), 0))
    return f"just {since}" if since == "now" else f"{since} ago"


def _embedding(embedding: Any) -> str:
    model = f"{embedding['provider']}, {embedding['dimensions']} dimensions"
    return embedding["message"] or (model if embedding["dimensions"] else "none: words only")


def _wrap(name: str | None, text: str, width: int) -> list[str]:
    """Wrap a text after a label (None: without indentation)."""
    from textwrap import wrap

    first, rest = ("", "") if name is None else (f"{name:<{_INDENT}}", " " * _INDENT)
    return wrap(
        text or " ", width, initial_indent=first, subsequent_indent=rest,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
