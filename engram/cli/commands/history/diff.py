"""`engram diff`: show changes of lore, word by word at a terminal, as a unified diff in a pipe."""

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
_NO_FILE = "/dev/null"
_CONTEXT = 3
ARGUMENTS = (
    argument("names", "REF REV REV", "an entry, and up to two commits or dates; all optional", nargs="*"),
)


def run(call: Call) -> int:
    """Print the differences; that there are none is no error."""
    from engram.usecases.history.diff import diff

    found = diff(call.store, call.arguments.names)
    output = call.output
    rows = [_json(difference) for difference in found.differences]
    output.document({"from": found.start or None, "to": found.end or None, "lore": rows})
    if output.json:
        return 0
    for difference in found.differences:
        output.lines(_diff_by_word(output, difference) if sys.stdout.isatty() else _unified_diff(difference))
    return 0


def _unified_diff(difference: Difference) -> Iterator[str]:
    """Yield the lines of a unified diff, escaped by `safe_text`."""
    import difflib

    if _kind(difference) == "moved":
        yield safe_text(f"rename from {difference.path_before}")
        yield safe_text(f"rename to {difference.path_after}")
    old = f"a/{difference.path_before}" if difference.path_before else _NO_FILE
    new = f"b/{difference.path_after}" if difference.path_after else _NO_FILE
    before, after = _split_lines(difference.before), _split_lines(difference.after)
    for line in difflib.unified_diff(before, after, old, new, n=_CONTEXT, lineterm=""):
        yield safe_text(line)


def _diff_by_word(output: Output, difference: Difference) -> Iterator[str]:
    """Yield the changed lines with their context, deleted words in red, added ones in green."""
    import difflib

    yield output.styled(safe_text(_title(difference)), BOLD)
    before, after = _split_lines(difference.before), _split_lines(difference.after)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield output.styled(f"@@ line {group[0][3] + 1} @@", CYAN)
        for kind, start, end, from_, to in group:
            if kind == "equal":
                yield from (safe_text(line) for line in after[from_:to])
            else:
                yield from _diff_lines(output, before[start:end], after[from_:to])
    yield ""


def _diff_lines(output: Output, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield both versions of changed lines merged into one text, with deleted and added words in colour."""
    parts: list[str] = []
    old, new = (safe_text("\n".join(side), lines=True) for side in (before, after))
    for deleted, added in word_diff(old, new):
        if deleted == added:
            parts.append(added)
        else:
            parts += [_style_lines(output, deleted, RED), _style_lines(output, added, GREEN)]
    yield from "".join(parts).split("\n")


def _style_lines(output: Output, text: str, style: str) -> str:
    """Style each line separately, since pagers show a style that spans line ends wrongly.

    Without colours, mark deletions as `[-…-]` and additions as `{+…+}`.
    """
    marks = ("[-", "-]") if style == RED else ("{+", "+}")
    shown = [output.styled(line, style) if line else "" for line in text.split("\n")]
    if output.styled("x", style) == "x":
        shown = [f"{marks[0]}{line}{marks[1]}" if line else "" for line in shown]
    return "\n".join(shown)


def _json(difference: Difference) -> dict[str, object]:
    lore = difference.lore
    old = lore_as_dict(difference.lore_before, difference.path_before) if difference.lore_before else {}
    new = lore_as_dict(difference.lore_after, difference.path_after) if difference.lore_after else {}
    fields = {
        name: {"from": old.get(name), "to": new.get(name)}
        for name in (new or old)
        if name != "path" and old.get(name) != new.get(name)
    }
    return {
        "id": lore.id if lore else None,
        "title": lore.title if lore else None,
        "change": _kind(difference),
        "path": difference.path_after or difference.path_before,
        "path_before": difference.path_before or None,
        "fields": fields,
        "diff": "\n".join(_unified_diff(difference)),
    }


def _kind(difference: Difference) -> str:
    if difference.before is None:
        return "added"
    if difference.after is None:
        return "removed"
    return "changed" if difference.path_before == difference.path_after else "moved"


def _title(difference: Difference) -> str:
    title = difference.lore.title if difference.lore else ""
    return f"{_kind(difference)} {difference.path_after or difference.path_before}{'  ' + title if title else ''}"


def _split_lines(raw: bytes | None) -> list[str]:
    return raw.decode("utf-8", "replace").removesuffix("\n").split("\n") if raw else []
