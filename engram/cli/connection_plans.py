"""The common part of `connect` and `disconnect`: show plans, ask, carry them out, report."""

from __future__ import annotations

import os

from engram.cli.invocation import Call
from engram.cli.output import GREEN, RED, YELLOW
from engram.domain.errors import NEEDS_HUMAN
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.agents.hosts import Host
    from engram.usecases.agents.connect import Plan


def carry_out(call: Call, hosts: Sequence[Host], make: Callable[[Host], Plan], *, connected: bool) -> int:
    """Plan the changes for each agent, show them, ask once, apply them. Returns the exit code.

    Two agents may share a file, so each plan is made again right before it is applied.
    Raises UsageError if there is no terminal to ask at.
    """
    from engram.usecases.agents.connect import apply
    from engram.usecases.store.store import Clock

    plans = [make(host) for host in hosts]
    for plan in plans:
        _show(call, plan)
    count = len({change.path for plan in plans for change in plan.wanted})
    backups: dict[str, str] = {}
    applied = not call.arguments.dry_run and (not count or call.confirm(f"Change {counted(count, 'file')}?"))
    if applied:
        for host in hosts:
            backups = {**apply(make(host), Clock(), connected=connected), **backups}
    call.output.document(_document(plans, backups, applied=applied))
    _report(call, plans, count, applied=applied, connected=connected, has_backups=_has_adjacent(backups))
    for plan in plans:
        if applied and connected and plan.wanted and plan.host.after:
            call.output.line(call.output.styled(f"{plan.host.title}: {plan.host.after}", YELLOW))
    return NEEDS_HUMAN if any(plan.refused for plan in plans) else 0


def _has_adjacent(backups: Mapping[str, str]) -> bool:
    """Return whether any backup is in the same folder as its file."""
    return any(
        os.path.dirname(copy) == os.path.dirname(os.path.realpath(path))
        for path, copy in backups.items()
        if copy
    )


def _show(call: Call, plan: Plan) -> None:
    out = call.output
    for change in plan.wanted:
        out.dim(f"{change.action} {change.path}  ({', '.join(change.kinds)})")
        for line in change.diff().split("\n"):
            style = {"+": (GREEN,), "-": (RED,)}.get(line[:1], ())
            out.line(out.styled(safe_text(line), *style))
    for refused in plan.refused:
        out.note(f"{refused.why} To be added by hand:")
        out.notes(f"    {line}" for line in refused.snippet.split("\n"))
    out.notes(plan.notes)


def _report(
    call: Call, plans: Sequence[Plan], count: int, *, applied: bool, connected: bool, has_backups: bool
) -> None:
    out = call.output
    for plan in plans:
        if not plan.wanted and not plan.refused:
            out.line(f"{plan.host.title}: nothing to change.")
    if not plans:
        out.line("No coding agent is installed here." if connected else "No coding agent is connected.")
        out.dim("`engram agents` lists those that Engram knows.")
    if not count:
        return
    if not applied:
        out.dim(f"{counted(count, 'file')} would be changed; nothing was.")
        return
    copies = " The files as they were are kept next to them (*.bak)." if has_backups else ""
    out.line(f"Changed {counted(count, 'file')}.{copies}")


def _document(plans: Sequence[Plan], backups: dict[str, str], *, applied: bool) -> dict[str, object]:
    return {
        "agents": [
            {
                "agent": plan.host.name,
                "server": plan.server if plan.host.server else "",
                "changes": [
                    {
                        "path": change.path,
                        "action": change.action,
                        "for": change.kinds,
                        "diff": change.diff(),
                        "backup": backups.get(change.path, ""),
                    }
                    for change in plan.changes
                ],
                "refused": [refused._asdict() for refused in plan.refused],
                "notes": plan.notes,
            }
            for plan in plans
        ],
        "applied": applied,
    }
