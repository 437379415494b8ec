"""`engram session`: list the entries that this session was shown."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.text.counted_nouns import entries
from engram.domain.text.safe_text import safe_text

DESCRIPTION = (
    "Show the entries that this session was shown, with the refs that feedback, show and forget take.\n"
    "A session syncs in the background when it starts and ends, where `sync.auto` is on."
)
EXAMPLES = ("engram session", "engram session start", "ENGRAM_SESSION=review engram session --json")
ARGUMENTS = (
    argument("moment", help="mark the start or end of a session", nargs="?", choices=("start", "end")),
)


def run(call: Call) -> int:
    """List the refs; at the start or end of a session, start its sync."""
    store = call.store
    syncing = False
    if call.arguments.moment:
        from engram.usecases.sync.auto_sync import start_session_sync

        syncing = start_session_sync(store)
    refs = store.session_state.refs(store.caller.session)
    call.output.document(
        {
            "session": store.caller.session,
            "agent": store.caller.agent,
            "syncing": syncing,
            "session_refs": {ref.name: ref.id for ref in refs},
            "lore": [
                {"ref": ref.name, "id": ref.id, "title": ref.title, "scope": ref.scope or store.stand.scope}
                for ref in refs
            ],
        }
    )
    for ref in refs:
        where = f"  ({ref.scope})" if ref.scope else ""
        call.output.line(f"{ref.name:<4} {ref.id}  {safe_text(ref.title)}{where}")
    call.output.dim(f"session {store.caller.session} · {entries(len(refs))} shown")
    if syncing:
        call.output.dim("syncing in the background: engram status")
    return 0
