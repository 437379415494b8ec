"""`engram edit`: change a lore."""

from __future__ import annotations

import argparse

from engram.cli.call import Call, text_or_stdin
from engram.cli.parsing import add_tags
from engram.cli.present import WAITS, lore_json
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.lookup.listing import Shown

DESCRIPTION = "Change a lore: in your editor ($VISUAL, $EDITOR), or single fields by option."
EXAMPLES = (
    "engram edit L1",
    "engram edit L2 --add-tag queue --category decision",
    "engram edit L3 --content - < new.md",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("name", metavar="REF", help="which lore")
    add("--content", metavar="TEXT", help="its new text; - reads standard input")
    add("-c", "--category", help="its new category")
    add("--context", action="append", metavar="TEXT", help="where and when it was learned (repeatable)")
    add("--confidence", type=float, metavar="F", help="how sure, 0.00 to 1.00; votes stay")
    add("--importance", type=float, metavar="F", help="how much it matters, 0.00 to 1.00")
    add("--status", help="active, pending, archived or superseded")
    add_tags(parser, "--add-tag", says="add a tag (repeatable, or with commas)")
    add_tags(parser, "--remove-tag", says="take a tag away (repeatable, or with commas)")
    add(
        "-f", "--file", action="append", metavar="PATH", help="the files it is about, instead of those it has"
    )
    add("--pin", action="store_true", default=None, help="it never fades")
    add("--unpin", action="store_false", dest="pin", help="it fades like others")


def run(call: Call) -> int:
    """Change it and say so."""
    from engram.usecases.recording.edit import Edit, edit

    given = call.arguments
    content = None if given.content is None else text_or_stdin(given.content, "text")
    wanted = Edit(
        content=content,
        category=given.category,
        context=tuple(given.context) if given.context is not None else None,
        confidence=given.confidence,
        importance=given.importance,
        status=given.status,
        add_tags=tuple(given.add_tag),
        remove_tags=tuple(given.remove_tag),
        files=tuple(given.file) if given.file is not None else None,
        pinned=given.pin,
    )
    by_hand = wanted.is_empty and call.is_interactive
    shown = _in_editor(call) if by_hand else edit(call.store, given.name, wanted)
    if shown is None:
        call.output.line("Nothing was changed.")
        return 0
    call.wrote = True
    call.output.document({"lore": lore_json(shown.lore, shown.path), "why": shown.pending})
    call.output.line(f"Changed {shown.lore.id}  {safe_text(shown.lore.title)}")
    if shown.pending:
        call.output.line(WAITS.format(shown.pending))
    return 0


def _in_editor(call: Call) -> Shown | None:
    from engram.usecases.lookup.listing import get
    from engram.usecases.opening.scopes import reach
    from engram.usecases.recording.edit import rewrite
    from engram.usecases.recording.editor import edited, kept_if_refused

    found = get(call.store, call.arguments.name)
    store = reach(call.store, found.scope)
    before = store.files.read(found.path)
    after = edited(before)
    if after == before:
        return None
    return kept_if_refused(after, lambda: rewrite(store, found.path, found.lore.id, before, after))
