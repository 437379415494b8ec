"""`engram sync`: bring this clone and its remote together."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager

from engram.cli.output import DIM, counted
from engram.domain.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engram.cli.call import Call
    from engram.cli.output import Output
    from engram.usecases.sync import Planned, Synced

DESCRIPTION = (
    "Commit what waits, fetch, merge by field, push. What both sides changed is merged by itself; where both wrote\n"
    "the same text, both versions are kept. Offline nothing is lost: it goes out with a later sync."
)
EXAMPLES = ("engram sync", "engram sync --dry-run", "engram sync --pull --timeout 20")
_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("remote", metavar="REMOTE", nargs="?", default="", help="with which remote (default: the usual one)")
    add("--pull", action="store_true", help="only bring in and merge, do not push")
    add("--push", action="store_true", help="only push, do not merge")
    add(
        "--dry-run",
        action="store_true",
        help="say what would come in, go out and be merged; change nothing here",
    )
    timeout(parser)


def timeout(parser: argparse.ArgumentParser) -> None:
    """Declare the time limit of everything that goes over the network."""
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=120.0,
        metavar="SECONDS",
        help="give up on a remote that takes longer than this (default: 120)",
    )


def run(call: Call) -> int:
    """Sync and report; trouble after something was done gives the exit code of that trouble."""
    from engram.usecases.sync import Options, preview, sync

    given = call.arguments
    both = given.pull == given.push
    options = Options(given.remote, both or given.pull, both or given.push, given.timeout)
    with steps(call.output) as step:
        if given.dry_run:
            return _show_plan(call, preview(call.store, options, step))
        done = sync(call.store, options, step)
    call.wrote = True
    call.output.document(done.as_dict())
    call.output.line(safe_text(_summary(done)))
    if done.conflicts:
        call.output.rule("Both versions of each are in its file, under `conflicts`.")
    if done.held:
        waiting = counted(done.held, "lore waits", "lore wait")
        call.output.rule(f"{waiting} until you accept them: engram trust list")
    for note in done.notes:
        call.output.note(note)
    for error in done.errors:
        call.output.note(f"engram: {error.message}\n  {error.hint}")
    return done.errors[0].exit_code if done.errors else 0


@contextmanager
def steps(output: Output) -> Iterator[Callable[[str], None]]:
    """A function to call with what is being done; shown on one line of standard error at a terminal."""
    if output.json or not sys.stderr.isatty():
        yield lambda _what: None
        return

    def step(what: str) -> None:
        text = output.styled(safe_text(f"{what} …"), DIM)
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    try:
        yield step
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError("a number of seconds from 0 to 86400 is needed")
    return value


def _summary(done: Synced) -> str:
    parts = [f"{done.pulled:,} in", f"{done.pushed:,} out"] if done.pulled or done.pushed else ["Nothing new"]
    if done.merged:
        parts.append(f"{done.merged:,} merged")
    if done.conflicts:
        parts.append(f"{counted(done.conflicts, 'conflict')} to look at")
    return f"{done.remote}/{done.branch}: {', '.join(parts)}"


def _show_plan(call: Call, found: Planned) -> int:
    plan = {name: list(paths) for name, paths in found.plan._asdict().items()}
    nothing = {"pulled": 0, "pushed": 0, "merged": 0, "conflicts": 0, "errors": [], "duration_ms": 0}
    call.output.document(
        {
            "remote": found.remote,
            "branch": found.branch,
            **nothing,
            "head": found.head,
            "plan": plan,
            "waiting": found.waiting,
        }
    )
    for title, paths in zip(("Would come in", "Would go out", "Would be merged"), found.plan, strict=True):
        call.output.line(f"{title}: {counted(len(paths), 'file')}")
        for path in paths[:_SHOWN]:
            call.output.rule(f"  {path}")
        if len(paths) > _SHOWN:
            call.output.rule(f"  … and {len(paths) - _SHOWN:,} more")
    if found.waiting:
        call.output.line(f"{counted(found.waiting, 'change')} not committed yet would go out too.")
    return 0
