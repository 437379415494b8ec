"""`engram edit`: change an entry."""

from __future__ import annotations

from engram.cli.invocation import Call, text_or_stdin
from engram.cli.parsing import argument, declare, switch, values_of
from engram.cli.present import WAITS, lore_json
from engram.domain.typed import TYPE_CHECKING
from engram.operations.edit import EDIT

if TYPE_CHECKING:
    from engram.usecases.lookup.listing import Shown

DESCRIPTION = "Change an entry: in your editor ($VISUAL, $EDITOR), or single fields by option."
EXAMPLES = (
    "engram edit L1",
    "engram edit L2 --add-tag queue --category decision",
    "engram edit L3 --content - < new.md",
)
ARGUMENTS = (
    argument("name", "REF", "which entry"),
    *declare(
        EDIT,
        content={"metavar": "TEXT"},
        context={"metavar": "TEXT"},
        add_tags={"metavar": "TAG"},
        remove_tags={"metavar": "TAG"},
        remove_when={"metavar": "WHEN"},
        pinned={"flags": ["--pin"]},
    ),
    switch("--unpin", "let it decay like others", action="store_false", dest="pinned"),
)


def run(call: Call) -> int:
    from engram.usecases.recording.edit import Edit, edit

    values = values_of(call.arguments, EDIT)
    if values["content"] is not None:
        values["content"] = text_or_stdin(values["content"], "text")
    wanted = Edit(**values)
    opens_editor = wanted.is_empty and call.is_interactive
    shown = _edit_in_editor(call) if opens_editor else edit(call.store, call.arguments.name, wanted)
    if shown is None:
        call.output.line("Nothing was changed.")
        return 0
    call.wrote = True
    call.output.document({"lore": lore_json(call, shown.lore, shown.path), "why": shown.pending})
    call.output.say(f"Changed {shown.lore.id}  {shown.lore.title}")
    if shown.pending:
        call.output.line(WAITS.format(shown.pending))
    return 0


def _edit_in_editor(call: Call) -> Shown | None:
    """Let the user edit the file of an entry; None if it was not changed."""
    from engram.usecases.lookup.listing import get
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.recording.edit import rewrite
    from engram.usecases.recording.editor import edit_text, keep_if_refused

    found = get(call.store, call.arguments.name)
    store = open_scope_of(call.store, found.scope)
    before = store.files.read(found.path)
    after = edit_text(before)
    if after == before:
        return None
    return keep_if_refused(after, lambda: rewrite(store, found.path, found.lore.id, before, after))
