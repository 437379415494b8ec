"""`engram session`: what this session was shown."""

from __future__ import annotations

from engram.domain.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = "The lore surfaced in this session, with the refs that feedback, show and forget take."
EXAMPLES = ("engram session", "ENGRAM_SESSION=review engram session --json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare no arguments of its own."""


def run(call: Call) -> int:
    """List the refs."""
    store = call.store
    refs = store.session_state.refs(store.caller.session)
    call.output.document(
        {
            "session": store.caller.session,
            "agent": store.caller.agent,
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
    call.output.rule(safe_text(f"session {store.caller.session} · {len(refs)} lore surfaced"))
    return 0
