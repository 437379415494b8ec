"""`engram diff`: what changed in lore; word by word at a terminal, as a unified diff in a pipe."""

from __future__ import annotations

import sys

from engram.cli.invocation import Call
from engram.cli.output import BOLD, CYAN, GREEN, RED, Output
from engram.cli.parsing import argument
from engram.domain.entry.lore import lore_as_dict
from engram.domain.text.safe_text import safe_text
from engram.domain.text.word_diff import word_diff
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.usecases.history.diff import Difference

DESCRIPTION = (
    "Show what changed in an entry, or in all: since a commit or date, or between two. Without one, show what is\n"
    "not committed yet, else what the last commit changed. At a terminal changed words are coloured; in a pipe\n"
    "the output is a unified diff."
)
EXAMPLES = (
    "engram diff L1",
    "engram diff L1 HEAD~3",
    "engram diff 2026-11-01 HEAD",
    "engram diff L1 HEAD~3 HEAD~1",
)
NOTHING = "/dev/null"  # what diffs call the side that has no file
_CONTEXT = 3
ARGUMENTS = (
    argument("names", "REF REV REV", "an entry, and up to two commits or dates; all optional", nargs="*"),
)


def run(call: Call) -> int:
    """Print the differences; none is an empty answer and no error."""
    from engram.usecases.history.diff import diff

    found = diff(call.store, call.arguments.names)
    output = call.output
    rows = [_row(one) for one in found.differences]
    output.document({"from": found.start or None, "to": found.end or None, "lore": rows})
    if output.json:
        return 0
    for one in found.differences:
        output.lines(by_word(output, one) if sys.stdout.isatty() else unified_diff(one))
    return 0


def unified_diff(one: Difference) -> Iterator[str]:
    """The lines of a unified diff, control characters made visible."""
    import difflib

    if _kind(one) == "moved":
        yield safe_text(f"rename from {one.path_before}")
        yield safe_text(f"rename to {one.path_after}")
    old = f"a/{one.path_before}" if one.path_before else NOTHING
    new = f"b/{one.path_after}" if one.path_after else NOTHING
    before, after = _lines(one.before), _lines(one.after)
    for line in difflib.unified_diff(before, after, old, new, n=_CONTEXT, lineterm=""):
        yield safe_text(line)


def by_word(output: Output, one: Difference) -> Iterator[str]:
    """The changed lines with their context; words that went in red, those that came in green."""
    import difflib

    yield output.styled(safe_text(_title(one)), BOLD)
    before, after = _lines(one.before), _lines(one.after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield output.styled(f"@@ line {group[0][3] + 1} @@", CYAN)
        for kind, start, end, from_, to in group:
            if kind == "equal":
                yield from (safe_text(line) for line in after[from_:to])
            else:
                yield from words(output, before[start:end], after[from_:to])
    yield ""


def words(output: Output, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Changed lines as one text of both, with what went and what came in colour."""
    parts: list[str] = []
    old, new = (safe_text("\n".join(side), lines=True) for side in (before, after))
    for went, came in word_diff(old, new):
        parts += (
            [went] if went == came else [_style_lines(output, went, RED), _style_lines(output, came, GREEN)]
        )
    yield from "".join(parts).split("\n")


def _style_lines(output: Output, text: str, style: str) -> str:
    """Each line by itself: a style that runs over a line end colours what a pager shows beside it.

    Where there are no colours, signs say what went and what came.
    """
    marks = ("[-", "-]") if style == RED else ("{+", "+}")
    shown = [output.styled(line, style) if line else "" for line in text.split("\n")]
    if output.styled("x", style) == "x":
        shown = [f"{marks[0]}{line}{marks[1]}" if line else "" for line in shown]
    return "\n".join(shown)


def _row(one: Difference) -> dict[str, object]:
    lore = one.lore
    old = lore_as_dict(one.lore_before, one.path_before) if one.lore_before else {}
    new = lore_as_dict(one.lore_after, one.path_after) if one.lore_after else {}
    fields = {
        name: {"from": old.get(name), "to": new.get(name)}
        for name in (new or old)
        if name != "path" and old.get(name) != new.get(name)
    }
    return {
        "id": lore.id if lore else None,
        "title": lore.title if lore else None,
        "change": _kind(one),
        "path": one.path_after or one.path_before,
        "path_before": one.path_before or None,
        "fields": fields,
        "diff": "\n".join(unified_diff(one)),
    }


def _kind(one: Difference) -> str:
    if one.before is None:
        return "added"
    if one.after is None:
        return "removed"
    return "changed" if one.path_before == one.path_after else "moved"


def _title(one: Difference) -> str:
    title = one.lore.title if one.lore else ""
    return f"{_kind(one)} {one.path_after or one.path_before}{'  ' + title if title else ''}"


def _lines(raw: bytes | None) -> list[str]:
    return (raw or b"").decode("utf-8", "replace").removesuffix("\n").split("\n") if raw else []
