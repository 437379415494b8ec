"""The texts of the entry screen: its trust line, its facts, and a line for each link, version and query."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from engram.domain.entry.disputes import describe_dispute
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.entry.people import byline
from engram.domain.text.counted_nouns import elapsed
from engram.domain.text.drawing import gauge
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import count, decimals, format_age, format_earned, format_helpful, fraction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.origin import Origin as Promoted
    from engram.usecases.graph.links import Link
    from engram.usecases.history.log import Event
    from engram.usecases.history.origin import Origin
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.recall_log import Surfaced

SPARKS = "▁▂▃▄▅▆▇█"
_KINDS = {"see_also": "see also", "caused_by": "caused by", "merged_from": "merged"}
_KINDS_BACK = {
    "supersedes": "superseded by",
    "contradicts": "contradicted by",
    "refines": "refined by",
    "caused_by": "cause of",
    "see_also": "see also",
}
_MAX_QUERY = 200
_MIN_SPAN = 0.1  # of confidence: smaller changes are not drawn large


class Provenance(NamedTuple):
    """The provenance of an entry: by git, by its file, the remotes of its store; who voted, by clone; its usefulness."""

    origin: Origin
    voters: Mapping[str, str]
    promoted: Promoted | None
    remotes: tuple[str, ...]
    usefulness: Mapping[str, float]


def trust_line(shown: Shown, now: float) -> str:
    """Format the trust signals in a line: bar, number, band, and how often the entry helped."""
    lore = shown.lore
    status = "" if lore.status == ACTIVE else f" · {lore.status}"
    pinned = " · pinned" if lore.pinned else ""
    figure = f"{gauge(lore.confidence, 8)} {fraction(lore.thousandths)} {format_earned(shown, now)}"
    return safe_line(f"{lore.category}{status}{pinned} · {figure} · {format_helpful(lore, now)}")


def facts(
    shown: Shown, now: float, provenance: Provenance | None, last: Event | None = None
) -> list[tuple[str, str]]:
    """Return the names and formatted values of all fields that are set; `last` is the latest version of the entry."""
    lore = shown.lore
    author = provenance.origin.author if provenance else lore.author
    found = [
        (
            "confidence",
            f"{gauge(lore.confidence, 8)} {fraction(lore.thousandths)} {format_earned(shown, now)}",
        ),
        ("helpful", _format_helpful(lore, now)),
        ("votes", _format_votes(lore, provenance.voters if provenance else {})),
        ("worth", _format_usefulness(provenance.usefulness) if provenance else ""),
        *_origin_facts(lore, provenance, last),
        ("sources", f"{count(len(lore.sources))}: {', '.join(lore.sources)}" if lore.sources else ""),
        ("category", f"{lore.category} ({lore.type})"),
        ("status", lore.status + (", pinned" if lore.pinned else "")),
        ("quarantine", "waits until you accept it" if provenance and provenance.origin.held else ""),
        ("tags", ", ".join(lore.tags)),
        ("files", ", ".join(lore.files)),
        ("entities", ", ".join(lore.entities)),
        ("when", " · ".join(lore.when)),
        ("context", " / ".join(lore.context)),
        ("importance", "" if lore.importance is None else f"{lore.importance:g}"),
        ("expires", _format_moment(lore.expires_at, now)),
        (
            "recorded",
            f"{_format_moment(lore.created_at, now)}{f' by {byline(lore.agent, author)}' if lore.agent or author else ''}",
        ),
        ("changed", _format_moment(lore.updated_at, now) if lore.updated_at != lore.created_at else ""),
        ("disputed", describe_dispute(lore, datetime.fromtimestamp(now, UTC)).removeprefix("disputed: ")),
        ("id", lore.id + (f" ({shown.ref} in this session)" if shown.ref else "")),
        ("scope", shown.scope),
        ("file", shown.path),
    ]
    return [(name, safe_line(value)) for name, value in found if value]


def _origin_facts(lore: Lore, provenance: Provenance | None, last: Event | None) -> list[tuple[str, str]]:
    if provenance is None:
        return []
    clone = f"another clone, on {provenance.origin.machine}" if provenance.origin.foreign else "this clone"
    return [
        ("counts", provenance.origin.counted.words(lore)),
        (
            "from",
            provenance.promoted.place
            if provenance.promoted
            else clone
            if lore.source_id
            else "unknown clone",
        ),
        ("remote", ", ".join(provenance.remotes)),
        ("commit", f"{last.commit}, {last.signature.sentence}" if last else ""),
    ]


def _format_helpful(lore: Lore, now: float) -> str:
    if not lore.validation_count:
        return "never yet"
    return f"{lore.validation_count}×" + (
        f", last {_format_moment(lore.last_validated, now)}" if lore.last_validated else ""
    )


def _format_usefulness(values: Mapping[str, float]) -> str:
    """Format the usefulness as measured on this machine."""
    shown = (
        f"shown {values['shown']:,.0f}×, about {values['tokens']:,.0f} tokens in all"
        if values["shown"]
        else "never shown here"
    )
    return f"{fraction(round(values['importance'] * 1000))} from use; {shown}"


def _format_votes(lore: Lore, voters: Mapping[str, str]) -> str:
    votes = [
        f"{voters.get(clone, clone)} +{vote.up / 1000:.2f}{f' −{vote.down / 1000:.2f}' if vote.down else ''}"
        for clone, vote in lore.accounts.items()
    ]
    return f"{lore.prior / 1000:.2f} at first; {', '.join(votes)}" if votes else ""


def _format_moment(at: datetime | None, now: float) -> str:
    if at is None:
        return ""
    if at.timestamp() > now:
        return f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{format_age(at, now)} ({at:%Y-%m-%d %H:%M} UTC)"


def link_line(link: Link) -> str:
    """Format a link as `→ refines  Title`, or with `←` if it leads to this entry."""
    kind = _KINDS_BACK.get(link.kind, link.kind) if link.back else _KINDS.get(link.kind, link.kind)
    missing = "(no longer in this store)"
    return safe_line(f"{'←' if link.back else '→'} {kind:<13} {link.title or f'{link.id} {missing}'}")


def sparkline(events: Sequence[Event], cells: int) -> str:
    """Draw the confidence over the versions, oldest first, as `.70 ▁▂▃▅█ .83`; "" for a single version."""
    known = [event.confidence for event in reversed(events) if event.confidence is not None]
    if len(known) < 2:
        return ""
    shown = known if len(known) <= cells else [known[cell * len(known) // cells] for cell in range(cells)]
    shown[-1] = known[-1]
    low, span = min(known), max(max(known) - min(known), _MIN_SPAN)
    drawn = "".join(SPARKS[min(len(SPARKS) - 1, int((value - low) / span * len(SPARKS)))] for value in shown)
    first, last = (fraction(round(value * 1000)) for value in (known[0], known[-1]))
    return f"{first} {drawn} {last}"


def event_line(event: Event, now: float, *, marked: bool) -> str:
    """Format a version: its age, its effect on the confidence, what was done, by whom, and the changed fields."""
    what = event.subject.partition(":")[0] if event.op and ":" in event.subject else event.kind
    fields = "" if event.fields == ("confidence",) else ", ".join(event.fields)
    mark = "●" if marked else " "
    what, author = safe_line(what, 12), safe_line(event.who, 14)
    line = f"{mark} {elapsed(now - event.at.timestamp()):>6}  {_format_change(event):<9} {what:<9} {author:<12} {fields}"
    return safe_line(line).rstrip()


def _format_change(event: Event) -> str:
    before, after = event.confidence_before, event.confidence
    if after is None:
        return "gone" if event.kind == "removed" else ""
    if before is None or before == after:
        return fraction(round(after * 1000))
    return f"{fraction(round(before * 1000))} → {fraction(round(after * 1000))}"


def version_heading(event: Event) -> str:
    """Format a version as the heading of a comparison."""
    return f"{event.at:%Y-%m-%d %H:%M} · {event.who} · {event.commit}"


def query_line(surfaced: Surfaced, now: float) -> str:
    """Format a query that returned this entry."""
    place = f"#{surfaced.rank} of {surfaced.shown} · {decimals(surfaced.score)} {surfaced.strength}"
    return safe_line(f"  {elapsed(now - surfaced.at):>6}  “{surfaced.query}”  {place}", _MAX_QUERY)


def compared_text(lore: Lore, event: Event) -> str:
    """Format an entry as text, to compare it with another version; `event` has its confidence at that time."""
    confidence = lore.thousandths if event.confidence is None else round(event.confidence * 1000)
    helpful = lore.validation_count if event.validation_count is None else event.validation_count
    fields = [
        ("category", lore.category),
        ("type", lore.type),
        ("status", lore.status + (", pinned" if lore.pinned else "")),
        ("confidence", f"{fraction(confidence)} ✓{helpful}"),
        ("tags", ", ".join(lore.tags)),
        ("files", ", ".join(lore.files)),
        ("entities", ", ".join(lore.entities)),
        ("when", " · ".join(lore.when)),
        ("context", " / ".join(lore.context)),
        ("related", ", ".join(f"{relation.kind} {relation.id}" for relation in lore.relations)),
        ("merged", ", ".join(lore.merged_from)),
        ("importance", "" if lore.importance is None else f"{lore.importance:g}"),
        ("expires", f"{lore.expires_at:%Y-%m-%d %H:%M} UTC" if lore.expires_at else ""),
    ]
    return "\n".join([*(f"{name}: {value}" for name, value in fields if value), "", lore.content])


def fact_table(rows: Sequence[tuple[str, str]], cells: int) -> Text:
    """Format names and values as a table of this width, long values wrapped and indented."""
    import textwrap

    width = max((len(name) for name, _ in rows), default=0) + 2
    text = Text()
    for name, value in rows:
        wrapped = textwrap.wrap(value, max(16, cells - width), break_long_words=True) or [""]
        text.append(f"{name:<{width}}", "dim")
        text.append(f"\n{' ' * width}".join(wrapped) + "\n")
    text.rstrip()
    return text
