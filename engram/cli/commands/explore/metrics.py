"""`engram metrics`: show counters, gauges and latencies of a store."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.parsing import argument
from engram.domain.errors import UsageError
from engram.domain.explore.metrics import HISTOGRAM, Metric, prometheus
from engram.domain.text.safe_text import safe_text

DESCRIPTION = "Show counters of this machine: lore recorded and recalled, query times, syncs, sizes."
EXAMPLES = ("engram metrics", "engram metrics --json", "engram metrics --format prometheus")
_FORMATS = ("table", "prometheus")
ARGUMENTS = (
    argument(
        "--format", help="text (default), or the Prometheus format", choices=_FORMATS, default=_FORMATS[0]
    ),
)


def run(call: Call) -> int:
    from engram.usecases.explore.metrics import metrics

    given = call.arguments
    if call.output.json and given.format != _FORMATS[0]:
        raise UsageError("--json and --format prometheus cannot be combined.", "Choose one.")
    found = metrics(call.store)
    call.output.document({"metrics": [metric.as_dict() for metric in found]})
    if given.format == "prometheus":
        call.output.line(prometheus(found).rstrip("\n"))
        return 0
    call.output.lines(_format_line(metric) for metric in found)
    return 0


def _format_line(metric: Metric) -> str:
    labels = " ".join(f"{name}={value}" for name, value in metric.labels)
    name = safe_text(f"{metric.name} {labels}".rstrip())
    if metric.kind == HISTOGRAM:
        quantiles = " · ".join(f"p{round(q * 100)} {metric.quantile(q):.1f}" for q in (0.5, 0.95, 0.99))
        return f"{name:<44} {metric.times:>10,}  {quantiles}"
    return f"{name:<44} {metric.value:>10,.0f}"
