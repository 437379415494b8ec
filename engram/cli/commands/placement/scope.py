"""`engram scope`: the stores that are queried together."""

from __future__ import annotations

from engram.cli.commands.sync.sync import TIME_LIMIT
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.cli.progress import steps
from engram.cli.sync_prompts import allow_cloned
from engram.domain.errors import UsageError
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.placement.manage_scopes import Listed

DESCRIPTION = (
    "List the scopes that a query searches: this session, the project, your own, and those of teams.\n"
    "Add a team's store by a name and its address; it is recorded in your own settings, never in a store's."
)
EXAMPLES = (
    "engram scope list",
    "engram scope add team-ml git@example.org:ml/lore.git --weight 0.9 --readonly",
    "engram scope remove team-ml --yes",
)
ARGUMENTS = (
    argument("action", help="what to do", choices=("list", "add", "remove"), nargs="?", default="list"),
    argument("name", "NAME", "the team's scope: lower-case words with - between them", nargs="?"),
    argument("url", "URL", "the address of its store: https, ssh or a folder (for add)", nargs="?"),
    argument("--path", help="where to clone it (default: engram/teams/NAME in your data folder)", default=""),
    argument("--weight", "F", "the weight of its scores (default: 0.8; the project: 1)", type=float),
    switch("--readonly", "never write to it from here; sync only pulls"),
    argument("--retention-days", "N", "recall nothing older (default: 0, no limit)", type=int),
    switch("--delete", "with remove: also delete the clone, if all of it was pushed"),
    TIME_LIMIT,
)


def run(call: Call) -> int:
    given = call.arguments
    if given.action == "add":
        return _add(call)
    if given.action == "remove":
        return _remove(call)
    if given.name:
        raise UsageError("`list` takes no name.", "engram scope list")
    return _list(call)


def _add(call: Call) -> int:
    from engram.usecases.placement.manage_scopes import add_scope

    given = call.arguments
    if not given.name or not given.url:
        raise UsageError("A name and an address are needed.", "engram scope add NAME URL")
    with steps(call.output) as step:
        done = add_scope(
            given.name,
            given.url,
            path=given.path,
            weight=given.weight,
            readonly=given.readonly,
            retention_days=given.retention_days,
            timeout=given.timeout,
            step=step,
        )
    call.output.document({"scope": done._asdict()})
    if done.existed:
        call.output.say(f"{done.name} is the clone that was at {done.path} already")
    elif done.empty:
        call.output.say(f"The remote is empty: made a new store for {done.name} at {done.path}")
    else:
        call.output.say(f"Added {done.name}: {entries(done.lore)} in {done.path}")
        allow_cloned(call, done.path)
    call.output.dim(f"Next: engram query …, engram sync --scope {done.name}")
    return 0


def _remove(call: Call) -> int:
    from engram.usecases.placement.manage_scopes import remove_scope, team_clone

    given = call.arguments
    if not given.name or given.url:
        raise UsageError("The name of one scope is needed.", "engram scope remove NAME")
    team_clone(given.name)  # fails for an unknown scope, before asking
    what = "and delete its clone" if given.delete else "(its clone stays)"
    if not call.confirm(f"Forget the scope {given.name} {what}?"):
        call.output.line("Nothing was changed.")
        return 0
    path = remove_scope(given.name, delete=given.delete)
    call.output.document({"removed": given.name, "path": path, "deleted": given.delete})
    call.output.line(f"Forgot the scope {given.name}")
    call.output.dim(f"{'Deleted' if given.delete else 'Its clone is still at'} {path}")
    return 0


def _list(call: Call) -> int:
    from engram.usecases.placement.manage_scopes import list_scopes

    found = list_scopes(call.store)
    call.output.document({"scopes": [scope._asdict() for scope in found]})
    for scope in found:
        call.output.say(*_format_lines(scope))
    return 0


def _format_lines(scope: Listed) -> Iterator[str]:
    facts = [f"weight {scope.weight:g}"]
    facts += ["read-only"] if scope.readonly else []
    facts += [f"{scope.retention_days} days"] if scope.retention_days else []
    count = entries(scope.lore_count) if scope.exists else "none yet"
    if scope.past_retention:
        count += f", {scope.past_retention:,} past retention"
    yield f"{'*' if scope.here else ' '} {scope.name:<12} {count} · {' · '.join(facts)}"
    yield f"    {scope.path}" + (f"  {scope.remote}" if scope.remote else "")
    if scope.message:
        yield f"    {scope.message}"
