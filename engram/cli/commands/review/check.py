"""`engram check`: check lore before it is merged."""

from __future__ import annotations

import os

from engram.cli.invocation import Call, current_caller
from engram.cli.parsing import argument, switch
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.review.check import CheckReport, Remark

DESCRIPTION = (
    "Check the lore of a pull request or commit: errors are files that cannot be recalled, secrets, and\n"
    "settings that a person has to accept; warnings are duplicates, contradictions, broken and ambiguous links, and\n"
    "files without fields. Nothing is changed, and no index is left behind where there was none."
)
COMMENT = 60_000  # characters of a comment; GitHub takes 65,536
EXAMPLES = (
    "engram check",
    "engram check --since HEAD",
    "engram check --since origin/main --annotations github --strict",
    "engram check --since origin/engram/lore --markdown > comment.md",
)
ARGUMENTS = (
    argument("paths", "PATH", "only these files and folders (default: all lore)", nargs="*"),
    argument("--since", "REV", "only what changed since a commit, branch, tag or date", default=""),
    switch("--strict", "also exit 1 for warnings"),
    argument(
        "--annotations", help="print findings as workflow commands of GitHub Actions", choices=("github",)
    ),
    switch("--markdown", "print markdown, to be posted as a comment on a proposal"),
)


def run(call: Call) -> int:
    """Check and report. Exit 1 for errors, with --strict also for warnings."""
    from engram.domain.errors import UsageError
    from engram.usecases.review.check import ERROR

    given = call.arguments
    if bool(given.annotations) + given.json + given.markdown > 1:
        raise UsageError("--annotations, --markdown and --json cannot be combined.", "Choose one.")
    found = _run_check(call)
    is_ok = not (found.remarks if given.strict else found.count(ERROR))
    call.output.document(
        {"ok": is_ok, "files": found.files, "findings": [remark._asdict() for remark in found.remarks]}
    )
    if given.markdown:
        call.output.lines(_markdown(found))
        return 0 if is_ok else 1
    for remark in found.remarks:
        _print_remark(call, remark, found.prefix)
    call.output.line(_summary(found))
    return 0 if is_ok else 1


def _run_check(call: Call) -> CheckReport:
    """Check with the caller's store if it has an index, else with a temporary one for the checkout."""
    from engram.usecases.review.check import check
    from engram.usecases.review.check_checkout import has_index, open_checkout

    given = call.arguments
    start = os.path.expanduser(given.store or os.environ.get("ENGRAM_STORE") or os.getcwd())
    if call.scope or has_index(start):
        return check(call.store, given.paths, given.since)
    with open_checkout(start, current_caller(), given.since) as store:
        return check(store, given.paths, given.since)


def _print_remark(call: Call, remark: Remark, prefix: str) -> None:
    from engram.domain.review.annotations import annotation, log_line

    path = prefix + remark.path
    if call.arguments.annotations:
        message = f"{remark.message}. {remark.hint}" if remark.hint else remark.message
        call.output.line(annotation(remark.level, path, remark.line, f"engram: {remark.kind}", message))
        return
    where = f"{path}:{remark.line}" if remark.line else path
    call.output.line(log_line(f"{remark.level:<7} {remark.kind:<13} {where}: {remark.message}"))
    if remark.hint:
        call.output.dim(log_line(f"        {remark.hint}"))


def _markdown(found: CheckReport) -> Iterator[str]:
    """Yield the report as a comment in markdown. Text from entries and file names is quoted as code, so it makes no links.

    The comment is cut at the longest that hosts accept; errors come first.
    """
    from engram.domain.review.annotations import log_line

    yield f"**Engram**: {_summary(found)}"
    if found.remarks:
        yield ""
    room = COMMENT
    for number, remark in enumerate(found.remarks):
        where = f"{found.prefix}{remark.path}" + (f":{remark.line}" if remark.line else "")
        message = log_line(f"{remark.message}. {remark.hint}" if remark.hint else remark.message)
        line = f"- **{remark.level}** {remark.kind} {_code(log_line(where))}: {_code(message)}"
        room -= len(line) + 1
        if room < 0:
            yield f"- … and {len(found.remarks) - number:,} more: `engram check` lists them all."
            return
        yield line


def _code(text: str) -> str:
    """Return a text as a span of code, even if it contains backquotes."""
    inside = " ".join(text.split()).replace("`", "'")
    return f"`{inside}`"


def _summary(found: CheckReport) -> str:
    from engram.domain.text.counted_nouns import counted
    from engram.usecases.review.check import ERROR, WARNING

    checked = f"{counted(found.files, 'file')} checked"
    if not found.remarks:
        return f"{checked}: all is well."
    errors, warnings = (counted(found.count(level), level) for level in (ERROR, WARNING))
    return f"{checked}: {errors}, {warnings}."
