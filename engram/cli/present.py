"""Lore on the command line: as lines for people and as JSON for programs."""

from __future__ import annotations

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, DIM, pad
from engram.domain.admission.trust import NOT_SIGNED
from engram.domain.entry.confidence import two_decimals
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.entry.people import byline, short_byline
from engram.domain.entry.times import render
from engram.domain.scopes import past_retention
from engram.domain.text.counted_nouns import counted, elapsed
from engram.domain.text.drawing import gauge
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.files.frontmatter.origin import Origin as Promoted
    from engram.adapters.index.catalog import Hit
    from engram.usecases.history.origin import Origin
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.query import Recalled


WAITS = "It is pending: not recalled until you accept it (engram review), because {}."
_WIDEST, _WIDE, _NARROW = 132, 110, 70  # columns of a terminal
_NAME_WIDTH = 14  # columns
_SHORT_ID = 14  # characters: all of the time and 20 of the random bits


def lore_json(call: Call, lore: Lore, path: str) -> dict[str, object]:
    """Return the JSON of an entry of the current store; {} if the output is not JSON."""
    if not call.output.json:
        return {}
    from engram.domain.admission.credit import as_dict
    from engram.usecases.admission import credit

    return as_dict(lore, path, credit.of(call.store, lore))


def recalled_lines(call: Call, hit: Recalled, text: str, origin: Origin | None) -> Iterator[str]:
    """Yield the lines of a recalled entry: title, `text` (its content within the budget), path.

    With an `origin`, also that and the parts of the score.
    """
    styled = call.output.styled
    lore = hit.lore
    yield title_line(call, hit.ref, hit.counted.fraction, hit.counted.confidence, lore.title)
    for line in dispute_lines(call, lore)[:1]:
        yield f"    {line}"
    body = _without_title(text, lore.title)
    for line in safe_text(body, lines=True).split("\n") if body else []:
        yield f"    {line}".rstrip()
    if len(text) < len(lore.content):
        yield styled(f"    … {len(lore.content) - len(text):,} more characters: engram show {hit.ref}", DIM)
    where = f"{hit.scope}: {hit.path}" if hit.scope != call.store.stand.scope else hit.path
    via = f" · by way of {hit.via}" if hit.via else ""
    yield styled(safe_text(f"    {lore.category} · {byline(lore.agent, lore.author)} · {where}{via}"), DIM)
    if origin is not None:
        parts = " · ".join(f"{name} {value}" for name, value in hit.score.why().items() if value is not None)
        yield styled(f"    score {hit.score.total:.3f}: {parts}", DIM)
        yield styled(safe_text(f"    from {_describe_origin(origin) or 'this clone'}"), DIM)
    yield ""


def title_line(call: Call, ref: str, confidence: float, thousandths: int, title: str) -> str:
    """Return the first line of a recalled entry: ref, confidence as a gauge and in `thousandths`, title."""
    styled = call.output.styled
    head = f"{styled(f'{ref:<3}', BOLD, CYAN)} {gauge(confidence, 8)} {two_decimals(thousandths)}  "
    return head + styled(safe_text(title), BOLD)


def lore_lines(
    call: Call,
    shown: Shown,
    origin: Origin,
    promoted: Promoted | None = None,
    worth: Mapping[str, float] | None = None,
    *,
    learned: Sequence[str] = (),
    verbose: bool = False,
) -> Iterator[str]:
    """Yield the lines of an entry in full.

    `promoted` is the entry that it was promoted from, `worth` its usage figures, `learned` the moments learned here.
    With `verbose`, also the id of the clone that recorded it.
    """
    lore = shown.lore
    styled = call.output.styled
    yield styled(safe_text(lore.title), BOLD)
    yield from dispute_lines(call, lore)
    earned = safe_text(origin.counted.earned.words(call.store.clock.now()))
    figure = f"{gauge(lore.confidence, 8)} {two_decimals(lore.thousandths)} ✓{lore.validation_count}"
    yield f"{lore.category} · {earned} · {lore.status} · {figure}"
    facts = {
        "id": lore.id + (f" ({shown.ref})" if shown.ref else ""),
        "tags": ", ".join(lore.tags),
        "files": ", ".join(lore.files),
        "entities": ", ".join(lore.entities),
        "when": " · ".join(lore.when),
        "learned": " · ".join(learned),
        "related": ", ".join(f"{relation.kind} {relation.id}" for relation in lore.relations),
        "context": " / ".join(lore.context),
        "from": f"{byline(lore.agent, origin.author)} on {render(lore.created_at)}, changed {render(lore.updated_at)}",
        "helpful": render(lore.last_validated) if lore.last_validated else "",
        "worth": _describe_worth(worth) if worth and worth["shown"] else "",
        "origin": promoted.place if promoted else "",
        "scope": shown.scope if shown.scope != call.store.stand.scope else "",
        "file": shown.path,
        "trust": _describe_trust(origin),
        "counts": origin.counted.words(lore),
        "commit": _describe_origin(origin),
        "source": f"{lore.source_id} ({origin.machine})" if verbose and lore.source_id else "",
        "held": "waits until you accept it: engram trust accept" if origin.held else "",
    }
    for name, value in facts.items():
        if value:
            yield styled(f"{name:<8} ", DIM) + safe_text(value)
    body = _without_title(lore.content, lore.title)
    if body:
        yield ""
        yield safe_text(body, lines=True)


def _describe_worth(worth: Mapping[str, float]) -> str:
    """Return a text such as `shown 3 times, about 120 tokens in all, importance 0.55`."""
    shown = counted(int(worth["shown"]), "time")
    return (
        f"shown {shown}, about {int(worth['tokens']):,} tokens in all, importance {worth['importance']:.2f}"
    )


def _describe_trust(origin: Origin) -> str:
    """Return the tier and its reason, unless they follow from the author."""
    is_news = origin.foreign or not origin.trust.is_checked
    return f"{origin.trust.tier}: {origin.trust.reason}" if is_news else ""


def _describe_origin(origin: Origin) -> str:
    """Return the last commit, the machine if it is another one, and the signature, as far as they are known."""
    parts = [origin.commit[:10] if origin.commit else ""]
    parts.append(f"on {origin.machine or origin.source_id[-8:]}" if origin.foreign else "")
    if origin.signature and origin.signature.state != NOT_SIGNED:
        parts.append(origin.signature.sentence)
    return " · ".join(part for part in parts if part)


def hit_line(call: Call, hit: Hit, now: float, status: str, worth: float | None = None) -> str:
    """Return a line of a list: confidence, category, title (with `status` unless active), author, age, validations, worth, id.

    `worth` is the importance, 0..1 (0 leaves the column empty), or None for a list without that column.
    The line is as wide as the terminal; a narrow one has no author, no category and only the start of the id.
    """
    width = call.output.width
    category = 22 if width >= _WIDE else 14
    head = f"{gauge(hit.confidence / 1000, 8)} " if width >= _WIDE else ""
    head += f"{two_decimals(hit.confidence)}  "
    if width >= _NARROW:
        head += f"{pad(hit.category, category)} "
    helpful = f"✓{hit.validation_count}" if hit.validation_count else ""
    importance = f" {f'◆{worth:.2f}' if worth else '':<5}" if worth is not None and width >= _NARROW else ""
    name = safe_text(short_byline(hit.agent, hit.author, _NAME_WIDTH))
    author = f" {pad(name, _NAME_WIDTH)}" if width >= _WIDEST else ""
    lore_id = hit.id if width >= _WIDE else hit.id[:_SHORT_ID]
    tail = f"{author} {elapsed(now - hit.created_at):>6} {helpful:<3}{importance} {lore_id}"
    room = max(8, width - len(head) - len(tail))
    marks = [status] if status != ACTIVE else []
    marks += ["disputed"] if hit.conflicts else []
    marks += ["past retention"] if is_past_retention(call, hit, now) else []
    title = f"({', '.join(marks)}) {safe_text(hit.title)}" if marks else safe_text(hit.title)
    return head + pad(title, room) + call.output.styled(tail, DIM)


def is_past_retention(call: Call, hit: Hit, now: float) -> bool:
    """Return whether an entry is past the retention of its scope. `now` is in Unix seconds."""
    horizon = call.store.scope.horizon(now)
    return past_retention(hit.created_at, hit.last_validated, bool(hit.pinned), horizon)


def dispute_lines(call: Call, lore: Lore) -> list[str]:
    """Return the two versions of a disputed entry and how to settle it; nothing for other entries."""
    if not lore.conflicts:
        return []
    from engram.domain.entry.disputes import describe_dispute
    from engram.domain.review.review import CONFLICT, item_id

    dispute = safe_text(describe_dispute(lore, call.store.clock.now()))
    settle = f"settle it: engram review (accept|take|both) {item_id(CONFLICT, [lore.id])}"
    return [call.output.styled(dispute, BOLD), call.output.styled(settle, DIM)]


def _without_title(content: str, title: str) -> str:
    """Return the content without a first line that only repeats the title."""
    first, _, rest = content.partition("\n")
    return rest.strip("\n") if first.strip().lstrip("#").strip() == title else content
