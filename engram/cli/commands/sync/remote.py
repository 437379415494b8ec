"""`engram remote`: the remotes of a store."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.errors import UsageError

DESCRIPTION = "List, add or remove the repositories that this store is synced with."
EXAMPLES = (
    "engram remote add origin git@example.org:team/lore.git",
    "engram remote list",
    "engram remote remove origin",
)
ARGUMENTS = (
    argument("action", help="what to do", choices=("add", "remove", "list"), nargs="?", default="list"),
    argument("name", "NAME", "the name of the remote, usually origin", nargs="?"),
    argument("url", "URL", "its address: https, ssh or a folder (for add)", nargs="?"),
)


def run(call: Call) -> int:
    """Add or remove a remote, then list them."""
    from engram.usecases.store import remote

    given = call.arguments
    if given.action == "add":
        if not given.name or not given.url:
            raise UsageError("A name and an address are needed.", "engram remote add origin URL")
        remote.add(call.store, given.name, given.url)
    elif given.action == "remove":
        if not given.name or given.url:
            raise UsageError("The name of one remote is needed.", "engram remote remove origin")
        remote.remove(call.store, given.name)
    elif given.name:
        raise UsageError("`list` takes no name.", "engram remote list")
    found = remote.list_remotes(call.store)
    call.output.document({"remotes": [each._asdict() for each in found]})
    call.output.say(*(f"{each.name}  {each.url}" for each in found))
    if not found:
        call.output.line("No remotes.")
        call.output.dim(f"Next: {remote.how_to_add(call.store.places.placement)}")
    elif given.action == "add":
        call.output.dim("Next: engram sync")
    return 0
