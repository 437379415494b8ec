"""`engram reindex`: bring the index up to date, or rebuild it."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import switch
from engram.cli.progress import progress
from engram.domain.text.counted_nouns import counted

DESCRIPTION = (
    "Bring the search index up to date with every file, or rebuild it. It is a cache: nothing is lost."
)
EXAMPLES = ("engram reindex", "engram reindex --rebuild")
ARGUMENTS = (switch("--rebuild", "rebuild from scratch"),)


def run(call: Call) -> int:
    from engram.usecases.index.refresh import refresh
    from engram.usecases.index.vectors import make_vectors

    reason = "asked for" if call.arguments.rebuild else ""
    with progress(call.output, "indexing") as step:
        done = refresh(call.store, rebuild=reason, progress=step)
    with progress(call.output, "making vectors") as step:
        filled = make_vectors(call.store, step)
    vectors = {"made": filled.done, "waiting": filled.left, "message": filled.trouble}
    call.output.document({**done._asdict(), "vectors": vectors})
    if not done.fresh:
        call.output.line("Another process is updating the index.")
        return 0
    result = f"Rebuilt ({done.rebuilt})" if done.rebuilt else "Up to date"
    problems = counted(done.problems, "problem")
    call.output.line(
        f"{result}: {done.added:,} new, {done.changed:,} changed, {done.removed:,} gone, {problems}"
    )
    if filled.done or filled.left:
        call.output.line(f"Vectors: {filled.done:,} made, {filled.left:,} still to be made")
    if filled.trouble:
        call.output.note(filled.trouble)
    return 0
