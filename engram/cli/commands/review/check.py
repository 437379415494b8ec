"""`engram check`: check lore before it is merged."""

from __future__ import annotations

import os

from engram.cli.invocation import Call, caller_here
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
    """Check and report; exit 1 for errors, with --strict for warnings, too."""
    from engram.domain.errors import UsageError
    from engram.usecases.review.check import ERROR

    given = call.arguments
    if bool(given.annotations) + given.json + given.markdown > 1:
        raise UsageError("--annotations, --markdown and --json cannot be combined.", "Choose one.")
    found = _run_check(call)
    is_ok = not (found.remarks if given.strict else found.count(ERROR))
    call.output.document(
        {"ok": is_ok, "files": found.files, "findings": [one._asdict() for one in found.remarks]}
    )
    if given.markdown:
        call.output.lines(_markdown(found))
        return 0 if is_ok else 1
    for one in found.remarks:
        _show(call, one, found.prefix)
    call.output.line(_summary(found))
    return 0 if is_ok else 1


def _run_check(call: Call) -> CheckReport:
    """Check with the caller's own store where it is ready to be asked, else with one made for the checkout."""
    from engram.usecases.review.check import check
    from engram.usecases.review.check_checkout import has_index, open_checkout

    given = call.arguments
    start = os.path.expanduser(given.store or os.environ.get("ENGRAM_STORE") or os.getcwd())
    if call.scope or has_index(start):
        return check(call.store, given.paths, given.since)
    with open_checkout(start, caller_here(), given.since) as store:
        return check(store, given.paths, given.since)


def _show(call: Call, one: Remark, prefix: str) -> None:
    from engram.domain.review.annotations import annotation, log_line

    path = prefix + one.path
    if call.arguments.annotations:
        message = f"{one.message}. {one.hint}" if one.hint else one.message
        call.output.line(annotation(one.level, path, one.line, f"engram: {one.kind}", message))
        return
    where = f"{path}:{one.line}" if one.line else path
    call.output.line(log_line(f"{one.level:<7} {one.kind:<13} {where}: {one.message}"))
    if one.hint:
        call.output.rule(log_line(f"        {one.hint}"))


def _markdown(found: CheckReport) -> Iterator[str]:
    """The report as a comment: what entries and names of files say is quoted as code, so that nothing of it is a link.

    Errors come first; the rest is counted where a host would not take so long a comment.
    """
    from engram.domain.review.annotations import log_line

    yield f"**Engram**: {_summary(found)}"
    if found.remarks:
        yield ""
    room = COMMENT
    for number, one in enumerate(found.remarks):
        where = f"{found.prefix}{one.path}" + (f":{one.line}" if one.line else "")
        message = log_line(f"{one.message}. {one.hint}" if one.hint else one.message)
        line = f"- **{one.level}** {one.kind} {_code(log_line(where))}: {_code(message)}"
        room -= len(line) + 1
        if room < 0:
            yield f"- … and {len(found.remarks) - number:,} more: `engram check` lists them all."
            return
        yield line


def _code(text: str) -> str:
    """A text as a span of code, whatever marks it holds."""
    inside = " ".join(text.split()).replace("`", "'")
    return f"`{inside}`"


def _summary(found: CheckReport) -> str:
    from engram.domain.text.counted_nouns import counted
    from engram.usecases.review.check import ERROR, WARNING

    looked = f"{counted(found.files, 'file')} checked"
    if not found.remarks:
        return f"{looked}: all is well."
    errors, warnings = (counted(found.count(level), level) for level in (ERROR, WARNING))
    return f"{looked}: {errors}, {warnings}."
