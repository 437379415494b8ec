"""`engram feedback`: judge lore: helpful, incorrect, or not relevant."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import declare, values_of
from engram.domain.typed import TYPE_CHECKING
from engram.operations.feedback import FEEDBACK

if TYPE_CHECKING:
    from typing import Any


DESCRIPTION = (
    "Judge lore that was recalled, by ref (L1), id, start of an id, or some of its words. An option takes several,\n"
    "and can be repeated."
)
EXAMPLES = (
    "engram feedback --helpful L1 L2 --incorrect L3",
    'engram feedback --not-relevant "tmp_path is per test"',
)
_SEVERAL: dict[str, Any] = {"action": "extend", "nargs": "+"}
ARGUMENTS = declare(FEEDBACK, helpful=_SEVERAL, not_relevant=_SEVERAL, incorrect=_SEVERAL)


def run(call: Call) -> int:
    from engram.usecases.recording.feedback import describe, feedback

    judged = feedback(call.store, **values_of(call.arguments, FEEDBACK))
    call.wrote = True
    call.output.document({"updated": [judgement._asdict() for judgement in judged]})
    call.output.say(*map(describe, judged))
    return 0
