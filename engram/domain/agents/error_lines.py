"""Find the lines of a tool's output that identify an error, to query lore with them.

Most of an output is noise: progress, times, local paths. One or two lines identify the problem.
"""

from __future__ import annotations

import re

from engram.domain.text.whole_words import first_words
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST_ERROR = 400  # characters
_MOST_LINES = 3
_MOST_DETAILS = 8  # lines before or after an error
_LONGEST_LINE = 300

# An exception, or an error message of a compiler or tool, at the beginning of a line.
_EXCEPTION = re.compile(
    r"(?:E\s+)?(?:[\w$]+(?:\.|::))*[A-Z]\w*(?:Error|Exception|Fault|Failure|Panic|Warning|Interrupt|Exit)\b"
    r"|error\[\w+\]|(?:\w[\w.-]*: )?(?:fatal|panic|error|FATAL|ERROR|FAILED|PANIC)\b ?(?:error|ERROR)?:"
)
_COMPLAINT = re.compile(
    r"\b(?:errors?|exception|fail(?:s|ed|ure)?|cannot|can't|could not|couldn't|unable to|not found|no such|denied"
    r"|fatal|panic|refused|invalid|unexpected|undefined|unknown|missing|timed out|timeout|killed|segmentation fault"
    r"|not allowed|not supported|conflict|mismatch|violates|exceeded|out of memory|aborted|unsupported)\b",
    re.IGNORECASE,
)
# Exit codes from 126 to 159 mean that a program could not run or was killed; others mean nothing without the program.
_CODE = r"-?(?!1(?:2[6-9]|[3-5]\d)\b)\d+"
_MARKED = re.compile(r"E {2,}\S|error(?:\[\w+\])?: \S|fatal: \S")  # by pytest, compilers, git
_LEVEL = re.compile(r"^.{0,60}?(?<![\w-])(?:ERROR|FATAL|CRITICAL|PANIC)(?![\w-])[\]:]?\s+(?=\S)")
_QUIET_LEVEL = re.compile(r".{0,60}?(?<![\w-])(?:INFO|DEBUG|TRACE|NOTICE)(?![\w-])")
_FRAME = re.compile(r"\s+at \S+.*[:(]")
_PYTHON_FRAME = re.compile(r"\s+File \"")
# Lines that only say that something went wrong.
_GENERIC = re.compile(
    rf"(?:exit(?:ed)?(?: with)?(?: exit)?(?: code| status)?:? ?{_CODE}|command failed.*|make: \*\*\*.*"
    r"|(?:error: )?aborting due to .*|traceback \(most recent call last\):?"
    r"|.*\b(?:ended|exited|failed|finished|terminated) with (?:exit )?(?:code|status|error)\b.{0,30}|.* failed with error:?"
    r"|stopping after \d+ failures?|failed \S+::\S+|[\w./-]+: (?:failure|error)|npm (?:err!|error) .{0,80}"
    r"|\+{1,4} .*"  # a shell's trace of what it runs
    r"|\[ *\d+/\d+\](?:(?!error|fail|\bnot\b|cannot|denied|refused).)*"  # a step of many
    r"|during handling of the above.*|the above exception was.*|error:?|failed:?"
    r"|=+ .{0,40}(?:failures|errors|short test summary).{0,20} =+|\d+ (?:failed|errors?|warnings?)[ ,\d\w.]*)\W*$",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_NOISE = (
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?\b"), " "),
    (re.compile(r"(?<![\w:])\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), " "),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), " "),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), " "),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), " "),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/](?=[\w.@~+-])"), ""),  # folders of this machine
    (re.compile(r"(?<=\w)(?::\d+){1,2}(?=[:\s)]|$)|,? \b(?:on )?lines? \d+(?:, (?:column|col) \d+)?"), " "),
    (re.compile(rf"\b(?:exit(?:ed with)? (?:code|status)|pid|errno)[ =:]+{_CODE}\b", re.IGNORECASE), " "),
    (re.compile(r"\s*[\[(]?\b\d{1,3}(?:\.\d+)?%[\])]?|[#=█▏-]{4,}>?"), " "),
    (re.compile(r"(?<!\w)(?:\[\s*\]|\(\s*\))"), " "),
)  # fmt: skip


def find_identifying_error(output: str) -> str:
    """Return the lines of a tool's output that identify the error, the most specific first, without noise.

    At most 400 characters; "" if there are none.
    """
    return find_error_and_details(output)[0]


def find_error_and_details(output: str) -> tuple[str, str]:
    """Return the lines that identify the error, and these lines together with their details.

    Each is at most 400 characters. Details are the lines up to the next empty one ("DETAIL: …", expected values, a hint),
    the lines before, from the first complaint on, and the line above the error's indentation (the name of a test).
    """
    lines = _rendered_lines(output)
    cleaned = [*map(_clean, lines)]
    errors = _find_errors(lines, cleaned)
    details = [at for number in errors for at in _find_details(lines, cleaned, number)]
    return _joined(cleaned, errors), _joined(cleaned, [*errors, *details])


def _joined(cleaned: Sequence[str], numbers: Iterable[int]) -> str:
    return first_words(" ".join(dict.fromkeys(cleaned[number] for number in numbers)), LONGEST_ERROR)


def _find_errors(lines: Sequence[str], cleaned: Sequence[str]) -> list[int]:
    """Return the numbers of the few lines that identify the error, the most specific first, without repetitions."""
    ranked = [
        (_rank_of(lines, number, line), number)
        for number, line in enumerate(cleaned)
        if line and not _GENERIC.match(line)
    ]
    best = max((rank for rank, _ in ranked), default=0)
    if not best:
        return [number for _, number in ranked[-2:]]
    errors = [number for rank, number in ranked if rank == best]
    if best > 1:  # the last of several exceptions ended the program
        errors.reverse()
    firsts: dict[str, int] = {}
    for number in errors:
        firsts.setdefault(cleaned[number], number)
    return [*firsts.values()][:_MOST_LINES]


def _find_details(lines: Sequence[str], cleaned: Sequence[str], number: int) -> Iterator[int]:
    """Yield the numbers of the detail lines of an error, those after it first; see `error_and_details`."""
    for at in range(number + 1, min(number + 1 + _MOST_DETAILS, len(lines))):
        if not cleaned[at] or _QUIET_LEVEL.match(lines[at]):
            break
        if _is_detail(lines, cleaned, at):
            yield at
    above = [*_lines_before(lines, cleaned, number)]
    complaint = next((at for at in reversed(above) if _complains(cleaned[at])), number)
    yield from (at for at in reversed(above) if at >= complaint)
    # The name of a test stands above the error, less indented or with a colon at its end.
    under = (at for at in above if _indent(lines[at]) < _indent(lines[number]))
    heading = next(under, number - 1 if lines[number - 1].rstrip().endswith(":") else -1)
    if heading in above:
        yield heading


def _lines_before(lines: Sequence[str], cleaned: Sequence[str], number: int) -> Iterator[int]:
    """Yield the numbers of possible detail lines before an error, the nearest first."""
    for at in range(number - 1, max(-1, number - 1 - _MOST_DETAILS), -1):
        if not cleaned[at] or _QUIET_LEVEL.match(lines[at]):
            break
        if _is_detail(lines, cleaned, at):
            yield at


def _is_detail(lines: Sequence[str], cleaned: Sequence[str], number: int) -> bool:
    line = cleaned[number]
    return bool(line) and not (
        _GENERIC.match(line) or _QUIET_LEVEL.match(lines[number]) or _is_frame(lines, number)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def reports_error(output: str) -> bool:
    """Return whether any line of an output reports an error."""
    return any(map(_complains, map(_clean, _rendered_lines(output))))


def _complains(line: str) -> bool:
    """Return whether a cleaned line reports an error."""
    match = _EXCEPTION.match(line) or _COMPLAINT.search(line)
    return match is not None and not _GENERIC.match(line)


def _rendered_lines(output: str) -> list[str]:
    """Return the lines of an output as a terminal finally shows them: without text that a carriage return overwrote."""
    lines = _ANSI.sub("", output).replace("\r\n", "\n").split("\n")
    return [first_words(line.rstrip("\r").rpartition("\r")[2], _LONGEST_LINE) for line in lines]


def _clean(line: str) -> str:
    level = _LEVEL.search(line)
    line = line[level.end() :] if level and not line.startswith(("ERROR:", "FATAL:")) else line
    for pattern, instead in _NOISE:
        line = pattern.sub(instead, line)
    return " ".join(line.split()).strip("|>│-=*#_! \t").removeprefix("E ")


def _is_frame(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is a stack frame, or the source line of one."""
    raw = lines[number]
    is_code = raw[:4].isspace() and any(map(_PYTHON_FRAME.match, lines[max(0, number - 2) : number]))
    return bool(is_code or _PYTHON_FRAME.match(raw) or _FRAME.match(raw))


def _rank_of(lines: Sequence[str], number: int, line: str) -> int:
    """Rate how likely a line is the error: 3 by its position, 2 by its form, 1 by a word of complaint, 0 for others.

    Positions that count: after pytest's mark or a log level, at the end of a stack trace (Python) or at its head
    (JavaScript, Java). `line` is the cleaned one.
    """
    raw, before = lines[number], lines[max(0, number - 2) : number]
    after = lines[number + 1] if number + 1 < len(lines) else ""
    if _is_frame(lines, number):
        return 0
    ends_stack = not raw[:1].isspace() and any(map(_PYTHON_FRAME.match, before))
    if ends_stack or _MARKED.match(raw) or _LEVEL.search(raw) or _FRAME.match(after):
        return 3
    return 2 if _EXCEPTION.match(line) else 1 if _COMPLAINT.search(line) else 0
