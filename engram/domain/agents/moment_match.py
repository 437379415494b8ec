"""Which moments of entries an event of an agent fits: the commands it runs, its files, its tool, its error."""

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


# Each of their plain words is something to be done: `gradle clean assemble`.
_TASK_RUNNERS = frozenset(
    ["make", "gmake", "ninja", "rake", "just", "task", "invoke", "gradle", "gradlew", "mvn", "mvnw", "ant"]
)


class Event(NamedTuple):
    """What an agent does: commands, files (from the repository's top, `/`), its tool, what a failing tool said."""

    commands: tuple[Command, ...] = ()
    files: tuple[str, ...] = ()
    tool: str = ""
    error: str = ""


def fitting(event: Event, lines: Iterable[str]) -> list[str]:
    """Return those of an entry's moments that an event fits."""
    return [line for line in lines if _fits(event, line)]


def parse_event(text: str) -> Event:
    """Return the event that somebody describes in a line: a command, or the name of a file or tool, or an error."""
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


# Commands: a pattern is read as a command line itself, so that `uv run alembic upgrade` is `alembic upgrade`.


class _Wanted(NamedTuple):
    """A pattern: its program, the plain words that have to follow, the options and variables that have to be there."""

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
    """Return whether a program and the plain words of a pattern begin a command that has its options."""
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
    """Return whether these words come first, with options between them, each of which may take a word of its own."""
    reached = {0}  # how many of the words may have been met
    after_option: set[int] = set()  # the same, where this word may be the value of the option before it
    for argument in arguments:
        if len(words) in reached:
            return True
        # The toolchain of cargo and others; a variable of make and others, unless it is an option's value.
        if argument.startswith("+") or (_VARIABLE.match(argument) and not after_option):
            continue
        if argument.startswith("-") and argument != "-":
            takes = "=" not in argument and not argument.startswith("--no-")
            after_option = set(reached) if takes else set()
            continue
        met = {count + 1 for count in reached if _is_word(argument, words[count])}
        reached, after_option = met | after_option, set()
        if not reached:
            return False
    return len(words) in reached


def _is_word(argument: str, word: str) -> bool:
    """Return whether an argument is a word of a pattern; a path may begin with `./` and end with `/`."""
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


# Files: patterns as in `.gitignore`, but one with a slash inside matches below any folder unless it begins with `/`.


def matches_path(path: str, pattern: str) -> bool:
    """Return whether a path (with `/`) fits a glob; takes time in the product of their numbers of parts."""
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
    reached = {0}  # how many parts of the path the pattern so far may stand for
    for number, part in enumerate(wanted):
        if part == "**":
            # Behind the last folder of a pattern there has to be something.
            lowest = min(reached) + (number == len(wanted) - 1 and number > 0)
            reached = set(range(lowest, len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], part)}
        if not reached:
            return False
    return len(parts) in reached


# Errors: pieces of text in order, each found by one look along a line.


def _contains(line: str, pieces: Sequence[str]) -> bool:
    at = 0
    for number, piece in enumerate(pieces):
        at = _find(line, piece, at, is_first=number == 0, is_last=number == len(pieces) - 1)
        if at < 0:
            return False
        at += len(piece)
    return True


def _find(line: str, piece: str, at: int, *, is_first: bool, is_last: bool) -> int:
    """Return where a piece is found as whole words at the ends of the pattern; -1 where it is not."""
    while (at := line.find(piece, at)) >= 0:
        end = at + len(piece)
        begins = not (is_first and piece[0].isalnum() and line[at - 1 : at].isalnum())
        ends = not (is_last and piece[-1].isalnum() and line[end : end + 1].isalnum())
        if begins and ends:
            return at
        at += 1
    return -1
