"""The tables of a recall report, in markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import bootstrap
import scoring
from recall_asking import K
from recall_variants import HYBRID, WORDS

from engram.domain.strength import NONE, STRENGTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recall_asking import Asked
    from recall_report import Report

_MEASURES = ["recall@1", "recall@5", "recall@10", "MRR@10", "nDCG@10"]
_NO_FLOOR = "hybrid without floor"


def quality(reports: Sequence[Report]) -> str:
    """Every variant on every set: the measures, how far nDCG@10 is from hybrid's (95 % interval), and times."""
    rows = [["Set", "Variant", *_MEASURES, "against hybrid", "p", "p50 ms", "p99 ms"]]
    for report in reports:
        for name, asked in report.asked.items():
            values = [_figure(value) for value in report.quality(name)[:5]]
            times = [f"{scoring.percentile(asked.times, share):.2f}" for share in (0.5, 0.99)]
            rows.append([report.name, name, *values, *_against_hybrid(report, name), *times])
    return _table(rows)


def kinds(report: Report) -> str:
    """Each kind of question: nDCG@10 and recall@5 of every variant; "" for a set without kinds."""
    if not report.kinds:
        return ""
    rows = [["Kind", "Questions", *report.asked]]
    for kind in dict.fromkeys(report.kinds.values()):
        found = [report.quality(name, kind) for name in report.asked]
        values = [f"{_figure(each.ndcg_10)} ({_figure(each.recall_5)})" for each in found]
        rows.append([kind, str(found[0].queries), *values])
    return f"{report.name}: nDCG@10 (recall@5)\n\n{_table(rows)}"


def honesty(reports: Sequence[Report]) -> str:
    """How often nothing is said where nothing answers, and at what price for the questions that have an answer."""
    head = ["Set", "Variant", "answerable: strong / weak / none", "get theirs", "of those without the floor"]
    rows = [[*head, "unanswerable: strong / weak / none"]]
    for report in reports:
        for name in [name for name in (WORDS, HYBRID) if name in report.asked]:
            asked = report.asked[name]
            got = found_by(report, name)
            free = found_by(report, _NO_FLOOR) if _NO_FLOOR in report.asked and name == HYBRID else set[str]()
            kept = _share(len(got & free), len(free)) if free else ""
            rows.append(
                [
                    report.name,
                    name,
                    _strengths(asked.strengths.values()),
                    _share(len(got), len(asked.rankings)),
                    kept,
                    _strengths(asked.unanswered),
                ]
            )
    return _table(rows)


def found_by(report: Report, name: str) -> set[str]:
    """The answerable questions that get one of theirs among the first ten."""
    asked: Asked = report.asked[name]
    return {
        query
        for query, ranked in asked.rankings.items()
        if asked.strengths[query] != NONE and scoring.recall(ranked, report.judged[query], K)
    }


def _against_hybrid(report: Report, name: str) -> list[str]:
    if name == HYBRID or HYBRID not in report.asked:
        return ["", ""]
    queries = list(report.judged)
    one, other = report.ndcg(name, queries), report.ndcg(HYBRID, queries)
    units = [report.units[query] for query in queries] if report.units else None
    found = bootstrap.compare(one, other, units)
    return [f"{found.mean:+.4f} ({found.low:+.4f} to {found.high:+.4f})", f"{found.p_value:.3f}"]


def _strengths(said: Iterable[str]) -> str:
    """Shares of strong, weak and none."""
    counts = Counter(said)
    total = sum(counts.values())
    return " / ".join(_share(counts[name], total) for name in STRENGTHS) if total else ""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _figure(value: float) -> str:
    return f"{value:.4f}".lstrip("0") if value < 1 else f"{value:.4f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])
