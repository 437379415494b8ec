"""The tables of a recall report, in markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import recall_report
import scoring
from recall_variants import HYBRID, NO_FLOOR, WORDS

from engram.adapters.numeric import numpy_module
from engram.domain.recall.ranking import STRENGTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recall_asking import Reply
    from recall_providers import Compared
    from recall_report import Report

_MEASURES = ["recall@1", "recall@5", "recall@10", "MRR@10", "nDCG@10"]


def quality(reports: Sequence[Report]) -> str:
    """Return a table of every variant on every set: measures, the difference in nDCG@10 from hybrid (95 % interval), and times."""
    rows = [["Set", "Variant", *_MEASURES, "against hybrid", "p", "p50 ms", "p99 ms"]]
    for report in reports:
        for name, asked in report.asked.items():
            values = [_figure(value) for value in report.quality(name)[:5]]
            times = [f"{scoring.percentile(asked.times, share):.2f}" for share in (0.5, 0.99)]
            rows.append([report.name, name, *values, *_against(report, name, HYBRID), *times])
    return _table(rows)


def kinds(report: Report) -> str:
    """Return a table of nDCG@10 and recall@5 by kind of question and variant; "" for a set without kinds."""
    if not report.kinds:
        return ""
    rows = [["Kind", "Questions", *report.asked]]
    for kind in dict.fromkeys(report.kinds.values()):
        found = [report.quality(name, kind) for name in report.asked]
        values = [f"{_figure(each.ndcg_10)} ({_figure(each.recall_5)})" for each in found]
        rows.append([kind, str(found[0].queries), *values])
    return f"{report.name}: nDCG@10 (recall@5)\n\n{_table(rows)}"


def any_found(report: Report) -> str:
    """Return a table of the share of each kind with a right document among the first five, and ten; "" without kinds."""
    if not report.kinds:
        return ""
    rows = [["Kind", "Questions", *report.asked]]
    for kind in [*dict.fromkeys(report.kinds.values()), ""]:
        shares = [[report.any_found(name, k, kind) for k in (5, 10)] for name in report.asked]
        count = sum(not kind or one == kind for one in report.kinds.values())
        values = [f"{_figure(five)} / {_figure(ten)}" for five, ten in shares]
        rows.append([kind or "all", str(count), *values])
    return f"{report.name}: recall_any@5 / @10\n\n{_table(rows)}"


def providers(found: Sequence[Compared]) -> str:
    """Return a table of every provider on every set: quality against the first (95 % interval), honesty, cost and memory."""
    head = ["Set", "Provider", "nDCG@10", "against the first", "p", "answerable: strong / weak / none"]
    rows = [[*head, "nothing answers", "CPU ms a question", "CPU s for the entries", "MB"]]
    for report, costs in found:
        first = next(iter(report.asked))
        for name, asked in report.asked.items():
            cost = costs[name]
            strength_cells = [_strengths(asked.replies.values()), _strengths(asked.unanswered)]
            cost_cells = [f"{cost.question_ms:.1f}", f"{cost.entries_s:.1f}", f"{cost.memory_mb:.0f}"]
            against = _against(report, name, first)
            rows.append(
                [
                    report.name,
                    name,
                    _figure(report.quality(name).ndcg_10),
                    *against,
                    *strength_cells,
                    *cost_cells,
                ]
            )
    return _table(rows)


def honesty(reports: Sequence[Report]) -> str:
    """Return a table of strengths for unanswerable questions, and for answerable ones, which is the price."""
    rows = [
        [
            "Set",
            "Variant",
            "answerable: strong / weak / none",
            "right entry shown",
            "unanswerable: strong / weak / none",
        ]
    ]
    for report in reports:
        for name in [name for name in (WORDS, HYBRID) if name in report.asked]:
            asked = report.asked[name]
            answered = _strengths(asked.replies.values())
            got = _share(len(report.found(name)), len(asked.replies))
            rows.append([report.name, name, answered, got, _strengths(asked.unanswered)])
    return _table(rows)


def bounds(reports: Sequence[Report]) -> str:
    """Return a table of what a threshold of evidence could do: silence 80 % of the unanswerable, or keep 97 % of the found.

    From the answers without a threshold; "" if no set has both kinds of question.
    """
    head = ["Set", "none to 80 % from", "keeps of what is found", "97 % kept up to", "none to", "AUC"]
    rows = [head]
    for report in reports:
        asked = report.asked.get(NO_FLOOR)
        if asked is None or not asked.unanswered or not report.found(NO_FLOOR):
            continue
        found = numpy_module().array([asked.replies[query].evidence for query in report.found(NO_FLOOR)])
        nothing = numpy_module().array([reply.evidence for reply in asked.unanswered])
        quiet, kept = numpy_module().quantile(nothing, 0.8), numpy_module().quantile(found, 0.03)
        auc = (found[:, None] > nothing).mean() + (found[:, None] == nothing).mean() / 2
        shares = [f"{100 * share:.1f} %" for share in ((found > quiet).mean(), (nothing < kept).mean())]
        rows.append([report.name, f"{quiet:.3f}", shares[0], f"{kept:.3f}", shares[1], f"{auc:.3f}"])
    return _table(rows) if len(rows) > 1 else ""


def _against(report: Report, name: str, base: str) -> list[str]:
    """Return the difference in nDCG@10 from `base` with its interval, and its p-value."""
    if name == base or base not in report.asked:
        return ["", ""]
    queries = list(report.judged)
    one, other = report.ndcg(name, queries), report.ndcg(base, queries)
    units = [report.units[query] for query in queries] if report.units else None
    found = scoring.compare(one, other, units)
    return [f"{found.mean:+.4f} ({found.low:+.4f} to {found.high:+.4f})", f"{found.p_value:.3f}"]


def _strengths(replies: Iterable[Reply]) -> str:
    """Return the shares of strong, weak and none."""
    counts = recall_report.strengths(replies)
    total = sum(counts.values())
    return " / ".join(_share(counts.get(name, 0), total) for name in STRENGTHS) if total else ""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _figure(value: float) -> str:
    return f"{value:.4f}".lstrip("0") if value < 1 else f"{value:.4f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])
