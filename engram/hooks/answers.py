"""Answers in the schema of the calling agent. Every form has exactly the keys that the agents document."""

from __future__ import annotations

from engram.adapters.agents import hook_events as forms
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.adapters.agents.hook_events import Hook

_FORMS: Mapping[str, Callable[[str, str], dict[str, object]]] = {
    forms.CONTEXT: lambda native, text: {
        "hookSpecificOutput": {"hookEventName": native, "additionalContext": text}
    },
    forms.FLAT_CONTEXT: lambda _native, text: {"additionalContext": text},
    forms.SNAKE_CONTEXT: lambda _native, text: {"additional_context": text},
    forms.BLOCK: lambda _native, text: {"decision": "block", "reason": text},
    forms.INNER_BLOCK: lambda native, text: {
        "hookSpecificOutput": {"hookEventName": native, "decision": "block", "reason": text}
    },
    forms.FOLLOW_UP: lambda _native, text: {"followup_message": text},
}


def answer(hook: Hook, text: str) -> dict[str, object] | None:
    """Return the JSON that puts `text` before the agent's model; None if it is blank or the agent takes no answer."""
    form = _FORMS.get(hook.form)
    return form(hook.native, text) if form is not None and text.strip() else None
