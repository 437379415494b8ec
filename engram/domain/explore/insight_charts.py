"""Charts of a store's statistics for terminals: each a sentence and a drawing made of characters."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.explore.insight import LATENCY_BOUNDS_MS, Asked, Entry, Insight, Share
from engram.domain.text.counted_nouns import age, counted, entries
from engram.domain.text.drawing import bars, columns, cut, named_columns
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


HEIGHT = 4  # lines of a chart
_LATENCY_CELLS = 5  # the width of a column


class Chart(NamedTuple):
    """A chart: its title, a sentence, the drawing line by line, and the ids of the entries it names."""

    title: str
    sentence: str
    lines: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


def charts(found: Insight, now: float, width: int) -> list[Chart]:
    """Draw all charts in lines of at most `width` characters (36 or more); `now` in Unix seconds.

    Titles and queries are raw text: the caller makes them safe to show.
    """
    if not found.total:
        return [Chart("Growth", "No lore here yet.")]
    return [
        _growth(found, width),
        _confidence(found, width),
        _helpful(found, width),
        _latency(found, width),
        _useful(found, width),
        _chart_unused(found, now, width),
        _chart_unanswered(found, now, width),
        _share(
            "Categories",
            f"The largest category, {_name(found.categories[0])}, has",
            found.categories,
            found.total,
            width,
        ),
        _share("Agents", f"{_name(found.agents[0])} recorded", found.agents, found.total, width),
        *([_scopes(found.scopes, width)] if len(found.scopes) > 1 else []),
    ]


def _growth(found: Insight, width: int) -> Chart:
    growth = found.growth
    step = -(-len(growth.totals) // width)
    totals = growth.totals[::-1][::step][::-1]  # includes the last one
    new = f"{growth.new_in_30_days:,} of them" if growth.new_in_30_days < found.total else "all of them"
    sentence = f"{entries(found.total)}, {new} recorded in the last 30 days."
    ends = f"{_day(growth.start):<{len(totals) - 10}}{_day(growth.end)}"
    return Chart("Growth", sentence, (*columns(totals, HEIGHT), ends))


def _confidence(found: Insight, width: int) -> Chart:
    states = {share.name: share.number for share in found.states}
    sentence = (
        f"{_percent(states['trusted'] + states['authoritative'], found.total)} of all entries are at 0.60 or more, "
        f"{states['cold']:,} below 0.30."
    )
    names = [f".{tenth}" for tenth in range(10)]
    return Chart(
        "Confidence", sentence, tuple(named_columns(names, found.confidence, HEIGHT, _cells(names, 5, width)))
    )


def _cells(names: Sequence[str], most: int, width: int) -> int:
    """Return the width of each of these columns: at most `most` cells, including a gap."""
    return min(most, width // len(names))


def _helpful(found: Insight, width: int) -> Chart:
    judged, helpful = sum(week.judged for week in found.weeks), sum(week.helpful for week in found.weeks)
    if not judged:
        return Chart("Helpful, by week", f"No judgements here in the last {len(found.weeks)} weeks.")
    wrong = sum(week.incorrect for week in found.weeks)
    count = f"{counted(judged, 'judgement')} in {len(found.weeks)} weeks"
    sentence = f"{count}: {_percent(helpful, judged)} helpful, {wrong:,} incorrect."
    names = [
        _day(week.start)[5:].replace("-", "/") if index % 2 == 0 else ""
        for index, week in enumerate(found.weeks)
    ]
    top = [week.rate if week.judged else 0 for week in found.weeks]
    cells = _cells(names, 4, width)
    lines = named_columns(names, top, HEIGHT - 1, cells)
    # A date is two columns wide.
    dates = "".join(f"{name:<{2 * cells}}" for name in names[::2]).rstrip()
    counts = "".join(f"{week.judged or '·':<{cells}}" for week in found.weeks).rstrip()
    return Chart("Helpful, by week", sentence, (*lines[:-1], counts, dates))


def _latency(found: Insight, width: int) -> Chart:
    latency = found.latency
    if not latency.queries:
        return Chart("Recall latency", "No queries here yet.")
    sentence = f"Half of the last {latency.queries:,} queries took at most {_ms(latency.p50)}, 95 % at most {_ms(latency.p95)}."
    names = [*(f"≤{bound}" for bound in LATENCY_BOUNDS_MS), f">{LATENCY_BOUNDS_MS[-1]}"]
    shown = list(zip(names, latency.counts, strict=True))
    while len(shown) * _LATENCY_CELLS > width and not (shown[0][1] and shown[-1][1]):
        shown.pop(0 if not shown[0][1] else -1)  # no query was that fast, or that slow
    names, counts = [name for name, _ in shown], [number for _, number in shown]
    return Chart("Recall latency", sentence, tuple(named_columns(names, counts, HEIGHT, _LATENCY_CELLS)))


def _useful(found: Insight, width: int) -> Chart:
    if not found.useful:
        return Chart("Most useful", "No entry has been judged helpful yet.")
    sentence = f"The entries judged helpful most often, in all clones together (the first {_times(found.useful[0].helpful)})."
    lines = [cut(f"✓{entry.helpful:<4}{_fraction(entry)}  {entry.title}", width) for entry in found.useful]
    return Chart("Most useful", sentence, tuple(lines), tuple(entry.id for entry in found.useful))


def _chart_unused(found: Insight, now: float, width: int) -> Chart:
    if found.growth.new_in_30_days == found.total:
        return Chart("Never used", "No entry is older than a month yet.")
    if not found.unused_total:
        return Chart(
            "Never used", "Every entry older than a month was shown here, or judged helpful somewhere."
        )
    amount = f"{found.unused_total:,} of {found.active:,} active entries"
    sentence = f"{amount} are older than a month, never shown here and never judged helpful."
    lines = [
        cut(f"{age(now - entry.created_at):<7}{_fraction(entry)}  {entry.title}", width)
        for entry in found.unused
    ]
    return Chart("Never used", sentence, tuple(lines), tuple(entry.id for entry in found.unused))


def _chart_unanswered(found: Insight, now: float, width: int) -> Chart:
    if not found.latency.queries:
        return Chart("Without an answer", "No queries here yet.")
    if not found.unanswered_total:
        return Chart("Without an answer", "Every query here found something.")
    queries = counted(found.unanswered_total, "query finds", "queries find")
    sentence = f"{queries} nothing: record what you know, and the next one is answered."
    return Chart(
        "Without an answer", sentence, tuple(_query_line(query, now, width) for query in found.unanswered)
    )


def _query_line(asked: Asked, now: float, width: int) -> str:
    return cut(f"{asked.times}×  {age(now - asked.last_at):<7}{' '.join(asked.query.split())}", width)


def _share(title: str, sentence: str, shares: Sequence[Share], total: int, width: int) -> Chart:
    lines = bars([(_name(share), share.number) for share in shares], width)
    rest = total - sum(share.number for share in shares)
    others = [f"and {rest:,} more in others"] if rest else []
    return Chart(title, f"{sentence} {_percent(shares[0].number, total)}.", (*lines, *others))


def _scopes(shares: Sequence[Share], width: int) -> Chart:
    total = sum(share.number for share in shares)
    sentence = f"{entries(total)} in {len(shares)} scopes can be recalled from here."
    return Chart("Scopes", sentence, tuple(bars([(share.name, share.number) for share in shares], width)))


def _name(share: Share) -> str:
    return share.name.replace("_", " ").lower() if share.name.isupper() else share.name


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / whole) if whole else 0} %"


def _fraction(entry: Entry) -> str:
    return f"{entry.confidence:.2f}".removeprefix("0") if entry.confidence < 1 else "1.0"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value >= 1 else "1 ms"


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
