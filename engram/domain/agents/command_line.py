"""Parse a command line into the programs that it runs, with the quoting, here documents and comments of a POSIX shell.

Text in quotes, here documents and comments is no program; what a substitution, `bash -c`, `sudo`, `uv run`, `find -exec`,
`docker exec` or `ssh` runs is one. Each program has the folder to which `cd` led.
"""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 20_000  # characters of a command line that are read
_DEEPEST = 12  # substitutions and subshells inside each other
_PLAIN = re.compile(r"[^\s;&|()<>`'\"\\$]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_REDIRECTION = re.compile(r"\d*[<>]&(?:\d+|-)|\d*(?:&>>?|>>|>\||>&|<<<|<>|>|<)")
_PARAMETER = re.compile(r"\$\{[^}\n]*\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_MODULE = re.compile(r"-[A-Za-z]*m")  # of Python, also with other letters before it: -Im

# Keywords, and programs that run another program, each with its options that take a value.
_KEYWORDS = frozenset(["then", "do", "else", "elif", "if", "while", "until", "!", "{"])
_WRAPPERS = {
    "sudo": "-u -g -C -h -p -r -t -U -D --user --group", "doas": "-u -C", "env": "-u -C -S --unset --chdir", "exec": "-a",
    "time": "-f -o", "nice": "-n --adjustment", "ionice": "-c -n", "stdbuf": "-i -o -e", "caffeinate": "-t",
    "xargs": "-I -n -P -L -d -s -a -E --max-args --max-procs --max-lines --delimiter --arg-file",
    "timeout": "-s -k --signal --kill-after", "flock": "-w -E --timeout", "npx": "-p --package",
    "uvx": "--from --with --python -p", "dotenv": "-f -e",
    **dict.fromkeys(("nohup", "command", "bunx", "pnpx", "setsid", "chronic"), ""),
}  # fmt: skip
# Wrappers with an operand before the program: a duration, a file, a folder, a profile.
_WITH_OPERAND = frozenset(["timeout", "flock", "direnv", "aws-vault", "chamber"])
_RUNNERS = {
    "uv": ("run", "--with --python -p --extra --group --project --directory --package --env-file"),
    "poetry": ("run", "-C -P --directory --project"), "pipenv": ("run", ""), "pdm": ("run", "-p"), "hatch": ("run", "-e"),
    "rye": ("run", ""), "conda": ("run", "-n -p --name --prefix"), "coverage": ("run", ""), "bundle": ("exec", ""),
    "pnpm": ("exec dlx", "-C -F --dir --filter"), "npm": ("exec", "-w --prefix --workspace --package"),
    "yarn": ("exec dlx", "--cwd -p"), "direnv": ("exec", ""), "op": ("run", "--env-file"),
    "doppler": ("run", "-p -c --project --config"), "aws-vault": ("exec", "-d -t --duration --region"), "chamber": ("exec", ""),
    **dict.fromkeys(("infisical", "dotenvx"), ("run", "-f -e --env --path --projectId")),
}  # fmt: skip
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "fish"])
_CONTAINERS = frozenset(["docker", "podman", "docker-compose", "kubectl"])
_IN_CONTAINER = "-e -u -w -f -n -p -c -H -v --env --user --workdir --index --file --project-name --namespace --container --context"
_LINE_RUNNERS = {  # their arguments are a command line
    "eval": "", "watch": "-n --interval",
    "parallel": "-j -P -n -N -L -a -I -S -C --jobs --max-args --arg-file --colsep --delay --joblog --retries --timeout",
}  # fmt: skip
_FINDERS = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    **dict.fromkeys(("fd", "fdfind"), ("-x", "-X", "--exec", "--exec-batch")), "nix": ("-c", "--command"),
}  # fmt: skip
_TOPLEVEL = ["git", "rev-parse", "--show-toplevel"]
_SSH = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"


class Word(NamedTuple):
    """One word of a command line without its quotes; `is_quoted` says that it begins with one."""

    text: str
    is_quoted: bool = False


class Run(NamedTuple):
    """One program that is run: its words, the program first, and the files to which its input and output are redirected.

    `folder` is where it runs, relative to the folder in which the command line began.
    """

    words: tuple[Word, ...]
    redirected: tuple[str, ...] = ()
    folder: str = ""


def runs_of(line: str) -> list[Run]:
    """Return the programs that a command line runs; wrappers such as `sudo` are replaced by the wrapped program."""
    return _runs_of(line[:LONGEST], 0, "")


def _runs_of(line: str, depth: int, folder: str) -> list[Run]:
    lexer = _Lexer(line, depth, folder)
    lexer.read("")
    return [one for run in lexer.runs for one in _with_inner(run, depth)]


def _with_inner(run: Run, depth: int) -> list[Run]:
    """Return a command without wrappers, and the commands in its arguments."""
    run = run._replace(words=_unwrap(run.words))
    if run.words:
        return [run, *_inner(run, depth)]
    return [run] if run.redirected else []


def _unwrap(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Strip variables and wrappers from a command."""
    while words:
        rest = _after_wrapper(words)
        if rest is None:
            break
        words = rest
    return words


def _after_wrapper(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """Return the command after a variable, a keyword or a wrapper; None if it begins with none of these."""
    first, rest = words[0].text.rpartition("/")[2], words[1:]
    if _ASSIGNMENT.match(words[0].text) or first in _KEYWORDS:
        return rest
    if first in _RUNNERS:
        subcommands, valued = _RUNNERS[first]
        rest = _without_options(rest, valued.split())
        is_runner = bool(rest) and rest[0].text in subcommands.split()
        rest = _without_options(rest[1:], valued.split())
        if first in _WITH_OPERAND:
            rest = _without_options(rest[1:], ())
        return rest if is_runner else None
    if first in _WRAPPERS and not words[0].is_quoted:
        if first == "command" and rest and rest[0].text in ("-v", "-V"):  # only looks up a program
            return None
        rest = _without_options(rest, _WRAPPERS[first].split())
        return rest[1:] if first in _WITH_OPERAND else rest
    if first.startswith("python"):
        at = next((at for at, word in enumerate(rest) if _MODULE.fullmatch(word.text)), len(rest))
        is_module = at + 1 < len(rest) and not _without_options(rest[:at], ["-W", "-X"])
        return rest[at + 1 :] if is_module else None
    return None


def _without_options(words: tuple[Word, ...], valued: Sequence[str]) -> tuple[Word, ...]:
    """Return the words after the leading options; an option in `valued` takes the next word as its value."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "--":
            return words[at + 1 :]
        at += 2 if words[at].text in valued else 1
    return words[at:]


def _inner(run: Run, depth: int) -> list[Run]:
    """Return the commands in the arguments of a shell, a container, `ssh`, an environment or a program that finds files."""
    if depth >= _DEEPEST:
        return []
    name = run.words[0].text.rpartition("/")[2]
    if name in _SHELLS:
        line = _line_of_shell(run.words)
    elif name == "nix-shell":
        line = next(
            (word.text for option, word in pairwise(run.words) if option.text in ("--run", "--command")), ""
        )
    elif name in _LINE_RUNNERS:
        line = _joined(_without_options(run.words[1:], _LINE_RUNNERS[name].split()))
    elif name == "ssh":
        line = _joined(_without_options(run.words[1:], _SSH.split())[1:])
    else:
        is_container, options = name in _CONTAINERS, _FINDERS.get(name, ())
        inner = [_in_container(run.words)] if is_container else _after_each(run.words, options)
        if name == "git":
            inner = [_bisected(run.words)]
        return [one for words in inner for one in _with_inner(Run(words, (), run.folder), depth + 1)]
    return _runs_of(line, depth + 1, run.folder)


def _line_of_shell(words: tuple[Word, ...]) -> str:
    """Return the argument of a shell's `-c`; "" for none."""
    is_value = False
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", word.text):
            return words[at + 1].text
        if not is_value and not word.text.startswith(("-", "+")):
            break
        is_value = re.fullmatch(r"[-+][a-z]*[oO]", word.text) is not None  # -o pipefail
    return ""


def _joined(words: tuple[Word, ...]) -> str:
    """Join words into a line, without the values for `parallel` after `:::`."""
    texts = [word.text for word in words]
    return " ".join(texts[: next((at for at, text in enumerate(texts) if text.startswith(":::")), None)])


def _after_each(words: tuple[Word, ...], options: Sequence[str]) -> list[tuple[Word, ...]]:
    """Return the command after each of these options, such as `-exec`."""
    commands, at = list[tuple[Word, ...]](), 0
    while at < len(words):
        if words[at].text in options:
            start = at + 1
            while at < len(words) and words[at].text not in (";", "+"):
                at += 1
            commands.append(words[start:at])
        at += 1
    return commands


def _in_container(words: tuple[Word, ...]) -> tuple[Word, ...]:
    rest = _without_options(words[1:], _IN_CONTAINER.split())
    if rest and rest[0].text == "compose":
        rest = _without_options(rest[1:], _IN_CONTAINER.split())
    if not rest or rest[0].text not in ("exec", "run"):
        return ()
    texts = [word.text for word in rest]
    if "--" in texts:
        return rest[texts.index("--") + 1 :]
    return _without_options(rest[1:], _IN_CONTAINER.split())[1:]


def _bisected(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the command of `git bisect run`."""
    rest = _without_options(words[1:], ("-C", "-c"))
    return rest[2:] if [word.text for word in rest[:2]] == ["bisect", "run"] else ()


class _Place(NamedTuple):
    """The current folder, the previous one (`cd -`), and the stack of `pushd`."""

    folder: str
    previous: str = ""
    pushed: tuple[str, ...] = ()

    def after(self, words: tuple[Word, ...]) -> _Place:
        """Return the place after a command. An unknown folder (`$x`) is kept by its name."""
        name = words[0].text if words else ""
        if name == "popd" and self.pushed:
            return _Place(self.pushed[-1], self.folder, self.pushed[:-1])
        if name not in ("cd", "pushd"):
            return self
        operands = [word.text for word in words[1:] if word.text == "-" or not word.text.startswith("-")]
        to = self.previous if operands == ["-"] else operands[0] if operands else "~"
        if operands != ["-"] and not to.startswith("~"):
            to = posixpath.join(self.folder, to)
        return _Place(to, self.folder, (*self.pushed, self.folder) if name == "pushd" else self.pushed)


_FILE, _TEXT = "file", "text"  # what a redirection expects as the next word


class _Draft:
    """The command that is being read."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start the next command."""
        self.words: list[Word] = []
        self.redirected: list[str] = []
        self.awaits = ""

    def add(self, word: Word) -> None:
        """Add a word, or the operand that a redirection expects."""
        if self.awaits == _FILE:
            self.redirected.append(word.text)
        elif not self.awaits:
            self.words.append(word)
        self.awaits = ""


class _Lexer:
    """Reads a command line once, from left to right."""

    def __init__(self, text: str, depth: int, folder: str) -> None:
        self.runs: list[Run] = []
        self._place = _Place(folder)
        self._text, self._at, self._depth = text, 0, depth
        self._heredocs: list[tuple[str, bool]] = []

    def read(self, closing: str) -> None:
        """Read commands up to an unquoted `closing` (`)` or a backtick), or to the end, and restore the folder."""
        self._depth += 1
        draft, outer = _Draft(), self._place
        while self._at < len(self._text):
            if self._text[self._at] == closing:
                self._at += 1
                break
            if not (self._blank(draft) or self._redirection(draft) or self._separator(draft)):
                draft.add(self._word(closing))
        self._end(draft)
        self._depth, self._place = self._depth - 1, outer

    def _end(self, draft: _Draft) -> None:
        if draft.words or draft.redirected:
            self.runs.append(Run(tuple(draft.words), tuple(draft.redirected), self._place.folder))
            self._place = self._place.after(_unwrap(tuple(draft.words)))
        draft.clear()

    def _blank(self, draft: _Draft) -> bool:
        """Skip white space or a comment, and here documents after a line end."""
        text, char = self._text, self._text[self._at]
        if char == "\n":
            self._end(draft)
            self._at += 1
            self._skip_heredocs()
        elif char.isspace():
            self._at += 1
        elif text.startswith("\\\n", self._at):
            self._at += 2
        elif char == "#":
            found = text.find("\n", self._at)
            self._at = len(text) if found < 0 else found
        else:
            return False
        return True

    def _redirection(self, draft: _Draft) -> bool:
        match = _HEREDOC.match(self._text, self._at)
        if match:
            self._heredocs.append((match[2] or match[3] or match[4], bool(match[1])))
        else:
            match = _REDIRECTION.match(self._text, self._at)
            if not match:
                return False
            draft.awaits = "" if match[0][-1] not in "<>|&" else _TEXT if match[0] == "<<<" else _FILE
        self._at = match.end()
        return True

    def _separator(self, draft: _Draft) -> bool:
        char = self._text[self._at]
        if char not in ";&|()":
            return False
        self._end(draft)
        self._at += 1
        if char == "(" and self._depth < _DEEPEST:
            self.read(")")
        return True

    def _skip_heredocs(self) -> None:
        for delimiter, is_indented in self._heredocs:
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line, self._at = self._text[self._at : stop], stop + 1
                if (line.lstrip("\t") if is_indented else line).rstrip("\r") == delimiter:
                    break
        self._heredocs.clear()
        self._at = min(self._at, len(self._text))

    def _word(self, closing: str) -> Word:
        text, parts, is_quoted = self._text, list[str](), self._text[self._at] in "'\""
        while self._at < len(text):
            char = text[self._at]
            if match := _PLAIN.match(text, self._at):
                parts.append(match[0])
                self._at = match.end()
            elif char == "'" or text.startswith("$'", self._at):
                parts.append(self._single(char == "$"))
            elif char == '"':
                parts.append(self._double())
            elif char == "\\":
                after = text[self._at + 1 : self._at + 2]
                is_path = after.isalnum() or after in (".", "_")  # on Windows
                parts.append(f"\\{after}" if is_path else after.replace("\n", ""))
                self._at += 2
            elif char in "$`" and char != closing:
                parts.append(self._substitution())
            else:
                break
        return Word("".join(parts), is_quoted)

    def _single(self, has_escapes: bool) -> str:
        start = self._at + (2 if has_escapes else 1)
        end = self._text.find("'", start)
        while has_escapes and end > 0 and self._text[end - 1] == "\\" and self._text[end - 2] != "\\":
            end = self._text.find("'", end + 1)
        end = len(self._text) if end < 0 else end
        self._at = end + 1
        return self._text[start:end]

    def _double(self) -> str:
        text, parts = self._text, list[str]()
        self._at += 1
        while self._at < len(text):
            char = text[self._at]
            if char == '"':
                self._at += 1
                break
            if match := _IN_QUOTES.match(text, self._at):
                parts.append(match[0])
                self._at = match.end()
            elif char == "\\":
                parts.append(text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            else:
                parts.append(self._substitution())
        return "".join(parts)

    def _substitution(self) -> str:
        """Read `$(…)` or a backtick's command, whose programs are run; anything else that begins with `$` is text."""
        text = self._text
        if text.startswith("$((", self._at):
            end = text.find("))", self._at)
            self._at = len(text) if end < 0 else end + 2
        elif self._depth < _DEEPEST and (text[self._at] == "`" or text.startswith("$(", self._at)):
            closing = "`" if text[self._at] == "`" else ")"
            self._at += 1 if closing == "`" else 2
            outer, self._heredocs = self._heredocs, []
            self.read(closing)
            self._heredocs = outer
            if self.runs and [word.text for word in self.runs[-1].words] == _TOPLEVEL:
                return "."  # most command lines begin there
        elif match := _PARAMETER.match(text, self._at):
            self._at = match.end()
            return match[0]
        else:
            self._at += 1
            return text[self._at - 1]
        return "$()"
