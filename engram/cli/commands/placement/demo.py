"""`engram demo`: open the app on the lore of a made-up team; in a pipe, merge two clones that disagree."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM, GREEN, at_terminal
from engram.cli.parsing import argument
from engram.domain.entry.confidence import two_decimals
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.placement.demo import Demo

DESCRIPTION = (
    "Open the app on the Inbox of a made-up team: about 40 entries by three people in two clones, with a dispute,\n"
    "a duplicate, a contradiction and a proposal. In a pipe, or with --json, change one entry in two clones, sync,\n"
    "and show the result. Real repositories, without a network, in a scratch folder that is removed at the end."
)
EXAMPLES = ("engram demo", "engram demo --keep ./demo")
ARGUMENTS = (argument("--keep", "PATH", "use this new folder, and keep it", default=""),)


def run(call: Call) -> int:
    """Open the app, or run and print the merge. Exit 1 if the two clones differ afterwards."""
    keep = call.arguments.keep
    if not call.output.json and at_terminal():
        return _open_app(call, keep)
    from engram.usecases.placement.demo import demo

    done = demo(keep)
    call.output.document(_document(done, keep=bool(keep)))
    if not call.output.json:
        _show(call, done, keep=bool(keep))
    return 0 if done.equal else 1


def _open_app(call: Call, keep: str) -> int:
    """Create the team's lore in its own folder, and open the app on it."""
    import shutil
    import tempfile

    from engram.usecases.placement.demo import new_folder
    from engram_tui.main import check_terminal, show_demonstration

    check_terminal()
    call.output.note("Making two clones with the lore of a team …")
    root = new_folder(keep) if keep else tempfile.mkdtemp(prefix="engram-demo-")
    try:
        code = show_demonstration(root)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
    if keep:
        call.output.say(f"Look around: cd {root}/ada && engram")
    return code


def _document(done: Demo, *, keep: bool) -> dict[str, object]:
    shares = {share.who: share.thousandths / 1000 for share in done.shares}
    confidence = {"before": done.before / 1000, "votes": shares, "after": done.after / 1000}
    return {
        "folder": done.folder if keep else None,
        "steps": [step._asdict() for step in done.steps],
        "lore": {"path": done.path, "text": done.text},
        "confidence": confidence,
        "commit": done.commit,
        "equal": done.equal,
    }


def _show(call: Call, done: Demo, *, keep: bool) -> None:
    line, styled = call.output.line, call.output.styled
    line(styled("Two clones of one store, each with something to say:", BOLD))
    for step in done.steps:
        line(f"  {styled(step.who, CYAN)}  {step.command:<46} {styled(safe_text(step.result), DIM)}".rstrip())
    line()
    line(styled("The lore in both clones now:", BOLD))
    for text in done.text.rstrip("\n").split("\n"):
        line(safe_text(text))
    line()
    signs = ((share, "+" if share.thousandths >= 0 else "−") for share in done.shares)
    votes = "".join(f" {sign} {two_decimals(abs(share.thousandths))} ({share.who})" for share, sign in signs)
    line(f"Confidence: {two_decimals(done.before)}{votes} = {two_decimals(done.after)}")
    verdict = "equal" if done.equal else "not equal"
    line(
        f"Both clones are at commit {done.commit[:10]}; their files are byte for byte {styled(verdict, GREEN)}."
    )
    if keep:
        line(safe_text(f"Look around: cd {done.folder}/ada && engram log"))
