"""`engram insight`: show charts of the store as a whole: its growth, quality, use and gaps."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD
from engram.domain.explore.insight_charts import charts
from engram.domain.text.safe_text import safe_text

DESCRIPTION = (
    "Show the store as a whole: growth, confidence, judgements, what is useful and what never was, which\n"
    "questions find nothing, how fast recall is. Figures about queries come from this machine's activity log."
)
EXAMPLES = ("engram insight", "engram insight --json")
_WIDEST = 100
ARGUMENTS = ()


def run(call: Call) -> int:
    from engram.usecases.explore.insight import compute_insight

    found = compute_insight(call.store)
    call.output.document(found.as_dict())
    width = max(48, min(call.output.width - 2, _WIDEST))
    for number, chart in enumerate(charts(found, call.store.clock.now().timestamp(), width)):
        if number:
            call.output.line()
        call.output.line(f"{call.output.styled(chart.title, BOLD)}: {safe_text(chart.sentence)}")
        call.output.lines(f"  {safe_text(line)}" for line in chart.lines)
    return 0
