"""`engram bisect`: find the commit that changed the answer to a query."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.cli.invocation import Call
from engram.cli.output import BOLD
from engram.cli.parsing import argument
from engram.domain.entry import times
from engram.domain.text.counted_nouns import counted
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.recall.bisect import Difference

DESCRIPTION = (
    "Find the commit that gave a query its present answer, by bisecting the history of the store.\n"
    "Judgements are not part of that history: it uses today's."
)
EXAMPLES = (
    'engram bisect "how do consumers retry?"',
    'engram bisect "how do consumers retry?" -k 1 --from 2026-10-01',
    'engram bisect "which port" --from v1.0 --to v1.1',
)
ARGUMENTS = (
    argument("text", "TEXT", "the question, in your own words", nargs="+"),
    argument("-k --limit", "N", "how many entries of the answer count (default: recall.limit, 5)", type=int),
    argument(
        "--from", "REV", "a commit, tag or date at which the answer was different", dest="start", default=""
    ),
    argument(
        "--to", "REV", "one at which the answer was as it is now (default: HEAD)", dest="end", default="HEAD"
    ),
)


def run(call: Call) -> int:
    """Find and print the commit. Exit 0 even if the answer never changed."""
    from engram.cli.progress import steps
    from engram.usecases.recall.bisect import bisect
    from engram.usecases.recall.query import Question

    given = call.arguments
    question = Question(" ".join(given.text), limit=given.limit)
    with steps(call.output) as tell:
        found = bisect(call.store, question, given.start, given.end, tell or str)
    commit = found.commit
    rows = [
        {
            "change": difference.kind,
            "id": difference.lore.id,
            "title": difference.lore.title,
            "from": difference.before,
            "to": difference.after,
        }
        for difference in found.differences
    ]
    facts: dict[str, object] = {"commit": None}
    if commit is not None:
        at = datetime.fromtimestamp(commit.moment, UTC)
        facts = {
            "commit": commit.oid,
            "author": commit.author,
            "at": times.render(at),
            "subject": commit.subject,
        }
    answer = [{"id": lore.id, "title": lore.title} for lore in found.answer]
    call.output.document(
        {**facts, "changes": rows, "answer": answer, "commits": found.commits, "asked": found.asked}
    )
    out = call.output
    if commit is None:
        out.line("The answer is the same at both ends, --from and --to.")
        return 0
    out.say(f"{commit.short}  {facts['at']}  {commit.author}")
    out.line(out.styled(safe_text(commit.subject), BOLD))
    out.say(*(_format_line(difference) for difference in found.differences))
    out.dim(
        f"{found.asked} of {counted(found.commits, 'commit')} queried; engram diff {commit.short}~1 {commit.short}"
    )
    return 0


def _format_line(difference: Difference) -> str:
    places = f"{difference.before or '-'} → {difference.after or '-'}"
    return f"  {difference.kind:<8} {places:<8} {difference.lore.title}  {difference.lore.id}"
