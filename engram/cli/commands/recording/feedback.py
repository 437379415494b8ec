"""`engram feedback`: what was helpful, wrong, or beside the point."""

from __future__ import annotations

from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from engram.cli.call import Call

DESCRIPTION = (
    "Judge lore that was recalled, by ref (L1), id, start of an id, or some of its words; several\n"
    "behind one option or each behind its own."
)
EXAMPLES = (
    "engram feedback --helpful L1 L2 --incorrect L3",
    'engram feedback --not-relevant "tmp_path is per test"',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--helpful",
        action="extend",
        nargs="+",
        default=[],
        metavar="REF",
        help="it helped: confidence +0.08",
    )
    add(
        "--incorrect",
        action="extend",
        nargs="+",
        default=[],
        metavar="REF",
        help="it is wrong: confidence −0.15",
    )
    add(
        "--not-relevant",
        action="extend",
        nargs="+",
        default=[],
        metavar="REF",
        help="right, but not what was asked",
    )
    add("--again", action="store_true", help="count it though this session said the same before")


def run(call: Call) -> int:
    """Judge and say what changed."""
    from engram.usecases.recording.feedback import describe, feedback

    given = call.arguments
    judged = feedback(
        call.store,
        helpful=given.helpful,
        not_relevant=given.not_relevant,
        incorrect=given.incorrect,
        again=given.again,
    )
    call.wrote = True
    call.output.document({"updated": [one._asdict() for one in judged]})
    for one in judged:
        call.output.line(safe_text(describe(one)))
    return 0
