"""Match an event of an agent (commands, files, tool, error) against the moments of entries."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from engram.domain.agents.command_signals import Command, commands_of
from engram.domain.entry.moments import COMMAND, ERROR, FILE, TOOL, moment_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_LONGEST_LINE = 2000  # characters of an error
_MOST_LINES = 2000
_CLUSTER = re.compile(r"-[A-Za-z]{1,4}")  # short options, together or alone: -f, -rf
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_INTERPRETERS = frozenset(
    ["python", "python3", "node", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php", "bash", "sh", "zsh"]
)


# Each plain argument of theirs is a task: `gradle clean assemble`.
_TASK_RUNNERS = frozenset(
    ["make", "gmake", "ninja", "rake", "just", "task", "invoke", "gradle", "gradlew", "mvn", "mvnw", "ant"]
)


class Event(NamedTuple):
    """An event of an agent: its commands, files (from the repository's top, with `/`), tool, and the error of a failed tool."""

    commands: tuple[Command, ...] = ()
    files: tuple[str, ...] = ()
    tool: str = ""
    error: str = ""


def match_moments(event: Event, lines: Iterable[str]) -> list[str]:
    """Return the moments that match an event."""
    return [line for line in lines if _fits(event, line)]


def parse_event(text: str) -> Event:
    """Return the event that a line describes: a command, the name of a file or tool, or an error."""
    name = (text.strip(),) if len(text.split()) == 1 else ()
    commands = tuple(commands_of(text))
    files = tuple(path for command in commands for path in command.paths)
    return Event(commands, (*name, *files), "".join(name), text)


def _fits(event: Event, line: str) -> bool:
    moment = moment_of(line)
    fits = _FITS.get(moment.kind) if moment is not None else None
    return moment is not None and fits is not None and fits(event, moment.pattern)


def _fits_command(event: Event, pattern: str) -> bool:
    wanted = _parse_pattern(pattern)
    return any(_runs(command, wanted) for command in event.commands)


def _fits_file(event: Event, pattern: str) -> bool:
    return any(matches_path(file, pattern) for file in event.files)


def _fits_tool(event: Event, pattern: str) -> bool:
    return bool(event.tool) and fnmatchcase(event.tool.lower(), pattern.lower())


def _fits_error(event: Event, pattern: str) -> bool:
    pieces = [piece for piece in (" ".join(part.split()) for part in pattern.lower().split("*")) if piece]
    lines = event.error.lower().splitlines()[:_MOST_LINES] if pieces else []
    return any(_contains(" ".join(line[:_LONGEST_LINE].split()), pieces) for line in lines)


_FITS: dict[str, Callable[[Event, str], bool]] = {
    COMMAND: _fits_command, FILE: _fits_file, TOOL: _fits_tool, ERROR: _fits_error,
}  # fmt: skip


# Commands: a pattern is parsed as a command line, so that `uv run alembic upgrade` means `alembic upgrade`.


class _Wanted(NamedTuple):
    """A parsed pattern: its program, the plain words that have to follow, the required options and variables."""

    program: str
    words: tuple[str, ...]
    options: tuple[str, ...]


@lru_cache(maxsize=1024)
def _parse_pattern(pattern: str) -> _Wanted:
    commands = commands_of(pattern)
    program = commands[0].program if commands else pattern.split(maxsplit=1)[0]
    arguments = commands[0].arguments if commands else tuple(pattern.split()[1:])
    options = tuple(word for word in arguments if word.startswith("-") or _VARIABLE.match(word))
    return _Wanted(program, tuple(word for word in arguments if word not in options), options)


def _runs(command: Command, wanted: _Wanted) -> bool:
    """Return whether a command begins with the program and plain words of a pattern, and has its options."""
    arguments = command.arguments
    if command.program != wanted.program:
        at = next((at for at, word in enumerate(arguments) if not word.startswith("-")), None)
        if command.program not in _INTERPRETERS or at is None:
            return False
        if arguments[at].replace("\\", "/").rpartition("/")[2] != wanted.program:
            return False
        arguments = arguments[at + 1 :]
    if command.program in _TASK_RUNNERS:
        begins = all(any(_is_word(argument, word) for argument in arguments) for word in wanted.words)
    else:
        begins = _follow(arguments, wanted.words)
    return begins and all(_has_option(arguments, one) for one in wanted.options)


def _follow(arguments: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether these words come first, apart from options, each of which may take a value."""
    reached = {0}  # possible numbers of matched words
    after_option: set[int] = set()  # the same, if this argument is the value of the option before it
    for argument in arguments:
        if len(words) in reached:
            return True
        # A toolchain (cargo +nightly) or a variable (make X=1), unless it is the value of an option.
        if argument.startswith("+") or (_VARIABLE.match(argument) and not after_option):
            continue
        if argument.startswith("-") and argument != "-":
            may_take_value = "=" not in argument and not argument.startswith("--no-")
            after_option = set(reached) if may_take_value else set()
            continue
        matched = {count + 1 for count in reached if _is_word(argument, words[count])}
        reached, after_option = matched | after_option, set()
        if not reached:
            return False
    return len(words) in reached


def _is_word(argument: str, word: str) -> bool:
    """Return whether an argument matches a word of a pattern; a path may begin with `./` and end with `/`."""
    if argument == word:
        return True
    if "*" in word:
        return fnmatchcase(argument, word)
    return "/" in word and argument.removeprefix("./").rstrip("/") == word.removeprefix("./").rstrip("/")


def _has_option(arguments: Sequence[str], option: str) -> bool:
    if any(_is_word(word, option) or word.startswith(f"{option}=") for word in arguments):
        return True
    if not _CLUSTER.fullmatch(option):
        return False
    letters = {letter for word in arguments if _CLUSTER.fullmatch(word) for letter in word[1:]}
    return set(option[1:]) <= letters


# Files: patterns as in `.gitignore`, except that one with an inner slash matches below any folder unless it begins with `/`.


def matches_path(path: str, pattern: str) -> bool:
    """Return whether a path (with `/`) matches a glob, in time proportional to the product of their numbers of parts."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    wanted = [part for part in pattern.removeprefix("./").split("/") if part]
    if not parts or not wanted:
        return False
    if pattern.endswith("/"):
        wanted.append("**")
    if not pattern.startswith("/"):
        wanted.insert(0, "**")
    return _parts_match(parts, wanted)


def _parts_match(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    reached = {0}  # possible numbers of path parts that the pattern has matched so far
    for number, part in enumerate(wanted):
        if part == "**":
            # A pattern that ends with a folder matches what is inside, not the folder itself.
            lowest = min(reached) + (number == len(wanted) - 1 and number > 0)
            reached = set(range(lowest, len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], part)}
        if not reached:
            return False
    return len(parts) in reached


# Errors: pieces of text in order, found in one pass along a line.


def _contains(line: str, pieces: Sequence[str]) -> bool:
    at = 0
    for number, piece in enumerate(pieces):
        at = _find(line, piece, at, is_first=number == 0, is_last=number == len(pieces) - 1)
        if at < 0:
            return False
        at += len(piece)
    return True


def _find(line: str, piece: str, at: int, *, is_first: bool, is_last: bool) -> int:
    """Return where a piece occurs, at the ends of the pattern only as whole words; -1 if it does not."""
    while (at := line.find(piece, at)) >= 0:
        end = at + len(piece)
        begins = not (is_first and piece[0].isalnum() and line[at - 1 : at].isalnum())
        ends = not (is_last and piece[-1].isalnum() and line[end : end + 1].isalnum())
        if begins and ends:
            return at
        at += 1
    return -1
