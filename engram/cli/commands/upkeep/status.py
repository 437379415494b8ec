"""`engram status`: how the store is."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import age
from engram.domain.entry.times import parse
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.store import BRANCH, DEDICATED

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any


DESCRIPTION = "Show the state of the store: what it holds, its index, its git, its embedding."
EXAMPLES = ("engram status", "engram status --json")
_WIDTH = 80
_INDENT = 11
ARGUMENTS = ()


def run(call: Call) -> int:
    """Print it."""
    from engram.usecases.upkeep.status import status

    found: Any = status(call.store)
    call.output.document(found)
    if not call.output.json:
        for line in _lines(found, call.store.clock.now(), min(call.output.width, _WIDTH)):
            call.output.say(line)
        call.tell_own_store()
    return 0


def _lines(found: Any, now: datetime, width: int) -> list[str]:
    """The state in lines of at most `width` columns."""
    store, git = found["store"], found["git"]
    kinds = ", ".join(f"{count} {name}" for name, count in list(found["by_category"].items())[:4])
    so_far = "" if found["index"]["ok"] else " known so far"
    lines = [f"{store['path']}  ({store['placement']})"]
    lines += _part(
        "",
        f"{counted(found['lore_count'], 'entry', 'entries')}{so_far}{': ' + kinds if kinds else ''}",
        width,
        indent="",
    )
    lines += _entity_lines(found["entities"], width)
    lines += _scope_lines(found, width)
    lines += _index_lines(found["index"], width)
    branch = f"{git['branch'] or 'no branch'} {(git['head'] or '')[:10] or 'without commits'}"
    waiting = f", {counted(git['pending'], 'change waits', 'changes wait')} to be committed"
    lines += _part("git", (git["message"] or branch) + (waiting if git["pending"] else ""), width)
    if git["unsigned"]:
        lines += _part("", f"commits are not signed, though git is to sign them: {git['unsigned']}", width)
    elif git["unsigned_merges"]:
        lines += _part("", "git is to sign commits: merges and proposals are not signed", width)
    if store["placement"] in (DEDICATED, BRANCH):
        lines += _sync_lines(git, store["placement"], now, width)
    elif git["sync"] and git["sync"]["at"]:  # in-tree: judgements alone
        lines += _last_lines(git, now, width, "sync", "judgements last exchanged")
    if git["conflicts"]:
        some = counted(git["conflicts"], "entry is", "entries are")
        text = f"{some} disputed: engram review --kind conflict"
        lines += _part("disputed", text, width)
    if git["proposals"]:
        some = counted(len(git["proposals"]), "proposal waits", "proposals wait")
        whose = f", {git['proposed']} is yours" if git["proposed"] in git["proposals"] else ""
        lines += _part("proposals", f"{some} to be reviewed{whose}: engram propose --list", width)
    if found["review"]["waiting"]:
        number = found["review"]["waiting"]
        lines += _part(
            "inbox", f"{counted(number, 'item waits', 'items wait')} for you: engram review", width
        )
    lines += _judgement_lines(found["judgements"], width)
    lines += _part("embedding", _embedding(found["embedding"]), width)
    if found["trust"]["held"]:
        held = counted(found["trust"]["held"], "entry is", "entries are")
        lines += _part("trust", f"{held} quarantined: engram trust list", width)
    lines += _settings_lines(found["settings"], width)
    session = found["session"]
    return lines + _part(
        "session", f"{session['name']}, {counted(session['surfaced'], 'entry', 'entries')} shown", width
    )


def _judgement_lines(judgements: Any, width: int) -> list[str]:
    """A line where anything was judged."""
    if not judgements["lines"] and not judgements["unreadable"]:
        return []
    text = f"{judgements['lines']:,} in the ledger"
    if judgements["unreadable"]:
        text += f", and {judgements['unreadable']:,} that cannot be read"
    if judgements["published"] != "yes":
        text += "; yours stay in this clone (judgements.publish)"
    return _part("judgements", text, width)


def _settings_lines(settings: Any, width: int) -> list[str]:
    """What of the store's configuration does not count here."""
    lines = _part("settings", settings["message"], width) if settings["message"] else []
    if settings["held_back"]:
        keys = ", ".join(one["key"] for one in settings["held_back"])
        lines += _part("settings", f"changed elsewhere and not accepted here: {keys}", width)
        lines += _part("", "engram doctor says what, engram config --accept takes it", width)
    return lines


def _entity_lines(entities: Any, width: int) -> list[str]:
    """A line where there are entities."""
    if not entities["count"] and not entities["problems"]:
        return []
    text = counted(entities["count"], "entity", "entities")
    if entities["problems"]:
        text += f", {counted(entities['problems'], 'file')} with problems: engram doctor"
    return _part("", text, width, indent="")


def _scope_lines(found: Any, width: int) -> list[str]:
    lines = []
    others = [one for one in found["scopes"] if not one["here"]]
    if others:
        counts = (counted(one["lore_count"], "entry", "entries") for one in others)
        listed = ", ".join(f"{one['name']} has {count}" for one, count in zip(others, counts, strict=True))
        lines += _part("scopes", f"{listed}: engram scope list", width)
    past = sum(one["past_retention"] for one in found["scopes"] if one["path"] == found["store"]["path"])
    if past:
        text = f"{counted(past, 'entry is', 'entries are')} past retention and not recalled"
        lines += _part("" if others else "scopes", text, width)
    return lines


def _index_lines(index: Any, width: int) -> list[str]:
    lines = _part("index", f"ready, {index.get('strategy', '')}" if index["ok"] else index["message"], width)
    if index["problems"]:
        lines += _part("", f"{counted(index['problems'], 'file')} cannot be recalled: engram doctor", width)
    if index["waiting_for_adoption"]:
        waiting = counted(index["waiting_for_adoption"], "file has", "files have")
        lines += _part("", f"{waiting} no fields yet: engram adopt", width)
    return lines


def _sync_lines(git: Any, placement: str, now: datetime, width: int) -> list[str]:
    """What waits to be pushed and pulled, how the last sync ended, and what to do."""
    from engram.usecases.store.remote import how_to_add

    last = git["sync"]
    if not git["remotes"]:
        return _part("sync", f"no remote yet: {how_to_add(placement)}", width)
    if last["at"] is None:
        return _part("sync", f"never synced with {git['remotes'][0]}: engram sync", width)
    ahead = ("ahead", "proposed" if git["proposed"] else "to push")
    parts = [ahead, ("behind", "to pull")]
    behind_or_ahead = [f"{counted(git[key], 'commit')} {what}" for key, what in parts if git[key]]
    hint = "" if git["proposed"] and not git["behind"] else ": engram sync"
    waits = f"{', '.join(behind_or_ahead)}{hint}" if behind_or_ahead else "nothing to push or pull"
    return _part("sync", waits, width) + _last_lines(git, now, width, "", "last synced")


def _last_lines(git: Any, now: datetime, width: int, name: str, did: str) -> list[str]:
    """When the last sync succeeded and why one failed since, and what is sent by itself."""
    last, auto = git["sync"], git["auto"]
    text = f"{did} with {last['remote']} {_ago(last['succeeded'], now)}" if last["succeeded"] else ""
    lines = _part(name, text, width) if text else []
    if last["error"]:
        failures = last["failures"]
        times = f" ({failures} times in a row)" if failures > 1 else ""
        text = f"failed {_ago(last['at'], now)}{times}: {last['error']['message']}"
        lines += _part("" if lines else name, text, width)
        lines += _part("", last["error"]["hint"], width)
    if auto["on"] and auto["waiting_since"]:
        lines += _part(
            "", f"a change made {_ago(auto['waiting_since'], now)} will be synced by itself", width
        )
    if not auto["on"] and auto["why"]:
        lines += _part("", f"it does not sync by itself: {auto['why']}", width)
    return lines


def _ago(moment: str, now: datetime) -> str:
    since = age(max((now - parse(moment)).total_seconds(), 0))
    return f"just {since}" if since == "now" else f"{since} ago"


def _embedding(embedding: Any) -> str:
    model = f"{embedding['provider']}, {embedding['dimensions']} dimensions"
    return embedding["message"] or (model if embedding["dimensions"] else "none: words only")


def _part(name: str, text: str, width: int, indent: str = " " * _INDENT) -> list[str]:
    """Return `name` and a text after it, in as many lines as it takes."""
    from textwrap import wrap

    return wrap(
        text or " ", width, initial_indent=f"{name:<{len(indent)}}", subsequent_indent=indent,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
