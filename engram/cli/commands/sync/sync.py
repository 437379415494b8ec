"""`engram sync`: synchronize this clone with its remote."""

from __future__ import annotations

import argparse
import os

from engram.cli.invocation import Call
from engram.cli.parsing import declare, declare_parameter, switch, values_of
from engram.cli.progress import steps
from engram.domain.errors import REMOTE_FAILED, NotFoundError, UsageError
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING
from engram.operations.sync import SYNC, TIMEOUT

if TYPE_CHECKING:
    from typing import Any

    from engram.usecases.sync.sync import Options, Planned, Synced

DESCRIPTION = (
    "Commit local changes, fetch, merge by field, push. Changes on both sides are merged automatically; where both\n"
    "edited the same text, both versions are kept. Nothing is lost offline: a later sync pushes it."
)
EXAMPLES = (
    "engram sync",
    "engram sync --dry-run",
    "engram sync --pull --timeout 20",
    "engram sync --scope team-ml",
    "engram sync --all",
)
_MOST_LISTED = 20
_SUMS = ("pulled", "pushed", "merged", "folded", "conflicts", "held", "duration_ms")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError("a number of seconds from 0 to 86400 is needed")
    return value


_SECONDS: dict[str, Any] = {"type": _seconds, "metavar": "SECONDS"}
TIME_LIMIT = declare_parameter(TIMEOUT, **_SECONDS)  # for all commands that use the network
ARGUMENTS = (
    *declare(
        SYNC,
        remote={"flags": (), "nargs": "?", "metavar": "REMOTE"},
        pull={"default": False, "help": "only fetch and merge, do not push"},
        push={"default": False, "help": "only push, do not merge"},
        timeout=_SECONDS,
    ),
    switch("--dry-run", "show what would be pulled, pushed and merged; change nothing here"),
    switch("--all", "sync every scope that has a remote; a failure does not stop the others"),
)


def run(call: Call) -> int:
    """Sync and report. An error after a partial sync determines the exit code."""
    from engram.usecases.opening.open_store import own_store_notice
    from engram.usecases.sync.sync import Options, preview, sync

    arguments = call.arguments
    values = values_of(arguments, SYNC)
    if values["pull"] == values["push"]:
        values["pull"] = values["push"] = True
    options = Options(**values)
    if arguments.all:
        return _sync_all(call, options)
    if arguments.scope:
        _clone_missing(call)
    elif notice := own_store_notice(call.store, os.getcwd()):
        raise NotFoundError("There is no store of this project in this clone yet.", notice)
    with steps(call.output) as step:
        if arguments.dry_run:
            return _show_plan(call, preview(call.store, options, step))
        done = sync(call.store, options, step)
    return _report(call, options, done)


def _report(call: Call, options: Options, done: Synced) -> int:
    """Print the result of a sync and return the exit code. `--yes` also allows automatic sync, even if it was refused before."""
    from engram.usecases.store.sync_consent import allow

    if call.arguments.yes and options.push and done.remote:
        allow(call.store, done.remote)
    call.wrote = call.synced = True
    call.output.document(done.as_dict())
    call.output.say(_summary(done))
    if done.conflicts:
        call.output.dim("Both versions of each are in its file; `engram review` shows them.")
    for pair in done.alike[:_MOST_LISTED]:
        call.output.dim(f"Nearly the same, {pair.why}: {pair.older} {pair.younger}")
    _report_problems(call, done)
    return done.errors[0].exit_code if done.errors else 0


def _sync_all(call: Call, options: Options) -> int:
    """Sync every scope. Any error gives the exit code of a failed remote."""
    from engram.usecases.placement.sync_all import sync_all

    arguments = call.arguments
    if options.remote or arguments.dry_run or arguments.scope:
        raise UsageError("--all takes no remote, no --scope and no --dry-run.", "engram sync --all")
    with steps(call.output) as step:
        found = sync_all(call.store, options, step)
    call.wrote = call.synced = True
    sums = {name: sum(getattr(scope.done, name) for scope in found) for name in _SUMS}
    errors = [{"scope": scope.scope, **error.as_dict()} for scope in found for error in scope.done.errors]
    call.output.document(
        {"scopes": [scope.as_dict() for scope in found], **sums, "errors": errors, "head": None}
    )
    for scope in found:
        call.output.say(f"{scope.scope}: {_summary(scope.done) if scope.done.branch else 'not synced'}")
        _report_problems(call, scope.done, f"{scope.scope}: ")
    if not found:
        call.output.line("No scope here has a remote.")
    return REMOTE_FAILED if errors else 0


def _clone_missing(call: Call) -> None:
    """Clone the store of a configured team if it is not on this machine yet."""
    from engram.adapters.files import config_file
    from engram.usecases.placement.manage_scopes import clone_missing

    settings = config_file.load(None)
    if call.scope in settings.teams():
        with steps(call.output) as step:
            clone_missing(settings, call.scope, timeout=call.arguments.timeout, step=step)


def _summary(done: Synced) -> str:
    parts = [f"{done.pulled:,} in", f"{done.pushed:,} out"] if done.pulled or done.pushed else []
    if done.merged:
        parts.append(f"{done.merged:,} merged")
    if done.folded:
        parts.append(f"{done.folded:,} folded into entries that say the same")
    if done.conflicts:
        parts.append(f"{counted(done.conflicts, 'conflict')} to look at")
    judgements = [("in", done.received_judgements), ("out", done.sent_judgements)]
    directions = [direction for direction, moved in judgements if moved]
    if directions:
        parts.append(f"judgements {' and '.join(directions)}")
    source = f"{done.remote}/{done.branch}" if done.branch else done.remote
    return f"{source}: {', '.join(parts) or 'nothing new'}"


def _report_problems(call: Call, done: Synced, prefix: str = "") -> None:
    """Print quarantined entries, notes and errors, each line after `prefix`."""
    if done.held:
        held = counted(done.held, "entry waits", "entries wait")
        call.output.dim(f"{prefix}{held} to be accepted: engram trust list")
    call.output.notes(prefix + note for note in done.notes)
    for error in done.errors:
        call.output.note(f"engram: {prefix}{error.message}", error.hint)


def _describe_changes(call: Call) -> dict[str, str]:
    """Describe the entries that wait to be pushed or pulled, by path."""
    from engram.usecases.sync.traffic import preview_exchange

    found = preview_exchange(call.store)
    changes = (*found.outgoing.lore, *found.incoming.lore)
    return {change.path: f"{change.phrase}: {change.title}" for change in changes}


def _show_plan(call: Call, found: Planned) -> int:
    nothing = {"pulled": 0, "pushed": 0, "merged": 0, "folded": 0, "alike": [], "conflicts": 0}
    call.output.document(
        {
            "remote": found.remote,
            "branch": found.branch,
            **nothing,
            "errors": [],
            "duration_ms": 0,
            "head": found.head,
            "plan": found.plan._asdict(),
            "waiting": found.waiting,
        }
    )
    changes = {} if call.output.json else _describe_changes(call)
    for title, paths in zip(
        ("Would be pulled", "Would be pushed", "Would be merged"), found.plan, strict=True
    ):
        call.output.line(f"{title}: {counted(len(paths), 'file')}")
        for path in paths[:_MOST_LISTED]:
            call.output.dim(f"  {changes.get(path, path)}")
        if len(paths) > _MOST_LISTED:
            call.output.dim(f"  … and {len(paths) - _MOST_LISTED:,} more")
    if found.waiting:
        call.output.line(f"{counted(found.waiting, 'change')} not committed yet would be pushed, too.")
    return 0
