"""What the screen of one lore says: its trust line, its facts, and a line for each link, version and query."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from engram.domain.entry.lore import ACTIVE
from engram_tui.shell.sanitize import words
from engram_tui.widgets.preview import since
from engram_tui.widgets.rows import bar, count, fraction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.origin import Origin as Promoted
    from engram.domain.entry.lore import Lore
    from engram.usecases.graph.links import Link
    from engram.usecases.history.log import Event
    from engram.usecases.history.origin import Origin
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.recall_log import Surfaced

SPARKS = "▁▂▃▄▅▆▇█"
_NAMED = {"see_also": "see also", "caused_by": "caused by", "merged_from": "took in"}
_NAMED_BACK = {
    "supersedes": "superseded by",
    "contradicts": "contradicted by",
    "refines": "refined by",
    "caused_by": "cause of",
    "see_also": "see also",
}
_MOST_QUERY = 200
_LEAST_SPAN = 0.1  # of confidence: less is not drawn as if it were much


class Provenance(NamedTuple):
    """Where a lore is from: as git knows it, as its file says, and the remotes of its store; and what it is worth."""

    origin: Origin
    promoted: Promoted | None
    remotes: tuple[str, ...]
    worth: Mapping[str, float]


def trust_line(shown: Shown, now: float) -> str:
    """The trust signals in one line: drawing, number, band, and how often it helped."""
    lore = shown.lore
    helped = f"✓{lore.validation_count}" if lore.validation_count else "not validated yet"
    if lore.last_validated:
        helped += f", last {since(lore.last_validated, now)}"
    status = "" if lore.status == ACTIVE else f" · {lore.status}"
    pinned = " · pinned" if lore.pinned else ""
    return words(
        f"{lore.category}{status}{pinned} · {bar(lore.thousandths, 8)} {fraction(lore.thousandths)} {lore.state} · {helped}"
    )


def facts(
    shown: Shown, now: float, where: Provenance | None, last: Event | None = None
) -> list[tuple[str, str]]:
    """Every field that says something, with its name, as people read it; `last` is what changed it last."""
    lore = shown.lore
    found = [
        ("confidence", f"{bar(lore.thousandths, 8)} {fraction(lore.thousandths)} {lore.state}"),
        ("helpful", _helpful(lore, now)),
        ("votes", _votes(lore)),
        ("worth", _worth(where.worth) if where else ""),
        *_provenance(lore, where, last),
        ("sources", f"{count(len(lore.sources))}: {', '.join(lore.sources)}" if lore.sources else ""),
        ("category", f"{lore.category} ({lore.type})"),
        ("status", lore.status + (", pinned" if lore.pinned else "")),
        ("held", "waits until you accept it" if where and where.origin.held else ""),
        ("tags", ", ".join(lore.tags)),
        ("files", ", ".join(lore.files)),
        ("entities", ", ".join(lore.entities)),
        ("context", " / ".join(lore.context)),
        ("importance", "" if lore.importance is None else f"{lore.importance:g}"),
        ("expires", _moment(lore.expires_at, now)),
        ("recorded", f"{_moment(lore.created_at, now)}{f' by {lore.agent}' if lore.agent else ''}"),
        ("changed", _moment(lore.updated_at, now) if lore.updated_at != lore.created_at else ""),
        ("conflicts", "; ".join(f"{one.field} of {one.source}: {one.value}" for one in lore.conflicts)),
        ("id", lore.id + (f" ({shown.ref} in this session)" if shown.ref else "")),
        ("scope", shown.scope),
        ("file", shown.path),
    ]
    return [(name, words(value)) for name, value in found if value]


def _provenance(lore: Lore, where: Provenance | None, last: Event | None) -> list[tuple[str, str]]:
    if where is None:
        return []
    clone = f"another clone, {lore.source_id}" if where.origin.foreign else "this clone"
    return [
        ("counts", where.origin.counted.words(lore)),
        ("from", where.promoted.place if where.promoted else clone if lore.source_id else "unknown clone"),
        ("remote", ", ".join(where.remotes)),
        ("commit", f"{last.commit}, {last.signature.sentence}" if last else ""),
    ]


def _helpful(lore: Lore, now: float) -> str:
    if not lore.validation_count:
        return "never yet"
    return f"{lore.validation_count}×" + (
        f", last {_moment(lore.last_validated, now)}" if lore.last_validated else ""
    )


def _worth(worth: Mapping[str, float]) -> str:
    """What use says of it on this machine."""
    shown = (
        f"shown {worth['shown']:,.0f}×, about {worth['tokens']:,.0f} tokens in all"
        if worth["shown"]
        else "never shown here"
    )
    return f"{fraction(round(worth['importance'] * 1000))} from use; {shown}"


def _votes(lore: Lore) -> str:
    said = [
        f"{clone} +{vote.up / 1000:.2f}{f' −{vote.down / 1000:.2f}' if vote.down else ''}"
        for clone, vote in lore.votes.items()
    ]
    return f"{lore.prior / 1000:.2f} at first; {', '.join(said)}" if said else ""


def _moment(at: datetime | None, now: float) -> str:
    if at is None:
        return ""
    if at.timestamp() > now:
        return f"{at:%Y-%m-%d %H:%M} UTC"
    return f"{since(at, now)} ({at:%Y-%m-%d %H:%M} UTC)"


def link_line(link: Link) -> str:
    """`→ refines  Title`, and `←` for one that names this lore."""
    kind = _NAMED_BACK.get(link.kind, link.kind) if link.back else _NAMED.get(link.kind, link.kind)
    missing = "(not in this store any more)"
    return words(f"{'←' if link.back else '→'} {kind:<13} {link.title or f'{link.id} {missing}'}")


def sparkline(events: Sequence[Event], cells: int) -> str:
    """Confidence over the versions, the oldest first: `.70 ▁▂▃▅█ .83`, from lowest to highest; "" for a single one."""
    known = [event.confidence for event in reversed(events) if event.confidence is not None]
    if len(known) < 2:
        return ""
    shown = known if len(known) <= cells else [known[at * len(known) // cells] for at in range(cells)]
    shown[-1] = known[-1]
    low, span = min(known), max(max(known) - min(known), _LEAST_SPAN)
    drawn = "".join(SPARKS[min(len(SPARKS) - 1, int((value - low) / span * len(SPARKS)))] for value in shown)
    first, last = (fraction(round(value * 1000)) for value in (known[0], known[-1]))
    return f"{first} {drawn} {last}"


def event_line(event: Event, now: float, *, marked: bool) -> str:
    """A version: when, who, what, and what it did to the confidence."""
    what = event.subject.partition(":")[0] if event.op and ":" in event.subject else event.kind
    fields = "" if event.fields == ("confidence",) else ", ".join(event.fields)
    mark = "●" if marked else " "
    line = f"{mark} {since(event.at, now):<10} {_change(event):<9} {words(what, 12):<9} {words(who(event), 14):<12} {fields}"
    return words(line).rstrip()


def who(event: Event) -> str:
    """The agent that made a version, else its author, without the address."""
    return event.agent or event.author.partition(" <")[0]


def _change(event: Event) -> str:
    before, after = event.confidence_before, event.confidence
    if after is None:
        return "gone" if event.kind == "removed" else ""
    if before is None or before == after:
        return fraction(round(after * 1000))
    return f"{fraction(round(before * 1000))} → {fraction(round(after * 1000))}"


def query_line(one: Surfaced, now: float) -> str:
    """A query that this lore answered."""
    when = since(datetime.fromtimestamp(one.at).astimezone(), now)
    return words(
        f"  {when:<10} #{one.rank} of {one.shown} · {one.score:.2f} {one.strength}  “{one.query}”",
        _MOST_QUERY,
    )


def compared(lore: Lore) -> str:
    """A lore as text, to be compared with another version of it."""
    fields = [
        ("category", lore.category),
        ("type", lore.type),
        ("status", lore.status + (", pinned" if lore.pinned else "")),
        ("confidence", f"{fraction(lore.thousandths)} ✓{lore.validation_count}"),
        ("tags", ", ".join(lore.tags)),
        ("files", ", ".join(lore.files)),
        ("entities", ", ".join(lore.entities)),
        ("context", " / ".join(lore.context)),
        ("related", ", ".join(f"{relation.kind} {relation.id}" for relation in lore.relations)),
        ("took in", ", ".join(lore.merged_from)),
        ("importance", "" if lore.importance is None else f"{lore.importance:g}"),
        ("expires", f"{lore.expires_at:%Y-%m-%d %H:%M} UTC" if lore.expires_at else ""),
    ]
    return "\n".join([*(f"{name}: {value}" for name, value in fields if value), "", lore.content])


def table(rows: Sequence[tuple[str, str]], cells: int) -> Text:
    """Names and values below one another, the values indented; `cells` wide."""
    import textwrap

    width = max((len(name) for name, _ in rows), default=0) + 2
    text = Text()
    for name, value in rows:
        wrapped = textwrap.wrap(value, max(16, cells - width), break_long_words=True) or [""]
        text.append(f"{name:<{width}}", "dim")
        text.append(f"\n{' ' * width}".join(wrapped) + "\n")
    text.rstrip()
    return text
