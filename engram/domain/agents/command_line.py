"""The programs that a command line runs: quotes, here documents and comments are read as a POSIX shell reads them.

What is only mentioned (in quotes, in a here document, in a comment) is no program; what a substitution, `bash -c`, `sudo`,
`uv run`, `docker exec` or `ssh` runs is one.
"""

from __future__ import annotations

import re

from engram.domain.typed import NamedTuple

LONGEST = 20_000  # characters of a command line that are read
_DEEPEST = 12  # substitutions and subshells inside each other
_PLAIN = re.compile(r"[^\s;&|()<>`'\"\\$]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_REDIRECTION = re.compile(r"\d*[<>]&(?:\d+|-)|\d*(?:&>>?|>>|>\||>&|<<<|<>|>|<)")
_PARAMETER = re.compile(r"\$\{[^}\n]*\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")

# Words before a program, and programs that run another one: which of their options take a word of their own.
_KEYWORDS = frozenset(["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"])
_WRAPPERS = {
    "sudo": "-u -g -C -h -p -r -t -U -D", "doas": "-u -C", "env": "-u -C -S --unset --chdir", "exec": "-a", "time": "-f -o",
    "xargs": "-I -n -P -L -d -s -a -E --max-args --max-procs --delimiter", "nice": "-n", "ionice": "-c -n", "stdbuf": "-i -o -e",
    "timeout": "-s -k --signal --kill-after", "watch": "-n --interval", "npx": "-p --package", "caffeinate": "-t",
    "uvx": "--from --with --python -p", "dotenv": "-f -e",
    **dict.fromkeys(("nohup", "command", "bunx", "pnpx", "setsid", "direnv", "chronic"), ""),
}  # fmt: skip
_RUNNERS = {
    ("uv", "run"): "--with --python -p --extra --group --project --directory --package --env-file", ("poetry", "run"): "",
    ("pipenv", "run"): "", ("pdm", "run"): "-p", ("hatch", "run"): "", ("rye", "run"): "", ("bundle", "exec"): "",
    ("pnpm", "exec"): "", ("npm", "exec"): "", ("yarn", "exec"): "", ("pnpm", "dlx"): "", ("yarn", "dlx"): "",
    ("direnv", "exec"): "", ("op", "run"): "--env-file", ("doppler", "run"): "-p -c --project --config",
}  # fmt: skip
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "fish"])
_CONTAINERS = frozenset(["docker", "podman", "docker-compose", "kubectl"])
_IN_CONTAINER = "-e -u -w -f -n -p -c -H -v --env --user --workdir --index --file --project-name --namespace --container --context"
_SSH = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w"


class Word(NamedTuple):
    """One word of a command line without its quotes; `is_quoted` says that it begins with one."""

    text: str
    is_quoted: bool = False


class Run(NamedTuple):
    """One program that is run: its words, the program first, and the files that its input and output are redirected to."""

    words: tuple[Word, ...]
    redirected: tuple[str, ...] = ()


def runs_of(line: str) -> list[Run]:
    """Return the programs that a command line runs, those behind `sudo`, variables and the like as themselves."""
    return _runs_of(line[:LONGEST], 0)


def _runs_of(line: str, depth: int) -> list[Run]:
    lexer = _Lexer(line, depth)
    lexer.read("")
    found: list[Run] = []
    for run in lexer.runs:
        words = _unwrap(run.words)
        if words:
            found.append(Run(words, run.redirected))
            found += _inner(words, depth)
        elif run.redirected:
            found.append(Run((), run.redirected))
    return found


def _unwrap(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return a command without variables and the programs that only run it."""
    while words:
        first = words[0].text.rpartition("/")[2]
        runner = _RUNNERS.get((first, words[1].text)) if len(words) > 1 else None
        if _ASSIGNMENT.match(words[0].text) or first in _KEYWORDS:
            words = words[1:]
        elif runner is not None:
            words = _without_options(words[2:], runner.split())
        elif first in _WRAPPERS and not words[0].is_quoted:
            words = _without_options(words[1:], _WRAPPERS[first].split())
            if first == "timeout" and words and _DURATION.fullmatch(words[0].text):
                words = words[1:]
        else:
            break
    return words


def _without_options(words: tuple[Word, ...], valued: list[str]) -> tuple[Word, ...]:
    """Return the words behind the options at the beginning; those in `valued` take the next word along."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        if words[at].text == "--":
            return words[at + 1 :]
        at += 2 if words[at].text in valued else 1
    return words[at:]


def _inner(words: tuple[Word, ...], depth: int) -> list[Run]:
    """Return what a shell, a container or another machine is told to run."""
    if depth >= _DEEPEST:
        return []
    name = words[0].text.rpartition("/")[2]
    if name in _SHELLS:
        for at, word in enumerate(words[1:-1], 1):
            if not word.text.startswith("-"):
                break
            if re.fullmatch(r"-[a-z]*c", word.text):
                return _runs_of(words[at + 1].text, depth + 1)
    elif name == "eval":
        return _runs_of(" ".join(word.text for word in words[1:]), depth + 1)
    elif name == "ssh":
        there = _without_options(words[1:], _SSH.split())[1:]
        return _runs_of(" ".join(word.text for word in there), depth + 1)
    elif name in _CONTAINERS:
        return _in_container(words, depth)
    return []


def _in_container(words: tuple[Word, ...], depth: int) -> list[Run]:
    rest = _without_options(words[1:], _IN_CONTAINER.split())
    if rest and rest[0].text == "compose":
        rest = _without_options(rest[1:], _IN_CONTAINER.split())
    if not rest or rest[0].text not in ("exec", "run"):
        return []
    texts = [word.text for word in rest]
    told = (
        rest[texts.index("--") + 1 :]
        if "--" in texts
        else _without_options(rest[1:], _IN_CONTAINER.split())[1:]
    )
    told = _unwrap(told)
    return [Run(told), *_inner(told, depth + 1)] if told else []


_FILE, _TEXT = "file", "text"  # what the next word is, behind a redirection


class _Draft:
    """The command that is being read."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin another one."""
        self.words: list[Word] = []
        self.redirected: list[str] = []
        self.awaits = ""

    def add(self, word: Word) -> None:
        """Take a word, or what a redirection asked for."""
        if self.awaits == _FILE:
            self.redirected.append(word.text)
        elif not self.awaits:
            self.words.append(word)
        self.awaits = ""


class _Lexer:
    """Reads a command line once, from left to right."""

    def __init__(self, text: str, depth: int) -> None:
        self.runs: list[Run] = []
        self._text, self._at, self._depth = text, 0, depth
        self._heredocs: list[tuple[str, bool]] = []

    def read(self, closing: str) -> None:
        """Read commands up to an unquoted `closing` (`)` or a backtick), or to the end."""
        self._depth += 1
        made = _Draft()
        while self._at < len(self._text):
            if self._text[self._at] == closing:
                self._at += 1
                break
            if not (self._blank(made) or self._redirection(made) or self._separator(made)):
                made.add(self._word(closing))
        self._end(made)
        self._depth -= 1

    def _end(self, made: _Draft) -> None:
        if made.words or made.redirected:
            self.runs.append(Run(tuple(made.words), tuple(made.redirected)))
        made.clear()

    def _blank(self, made: _Draft) -> bool:
        """Read white space or a comment, and the here documents that begin on the next line."""
        text, char = self._text, self._text[self._at]
        if char == "\n":
            self._end(made)
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

    def _redirection(self, made: _Draft) -> bool:
        match = _HEREDOC.match(self._text, self._at)
        if match:
            self._heredocs.append((match[2] or match[3] or match[4], bool(match[1])))
        else:
            match = _REDIRECTION.match(self._text, self._at)
            if not match:
                return False
            made.awaits = "" if match[0][-1] not in "<>|&" else _TEXT if match[0] == "<<<" else _FILE
        self._at = match.end()
        return True

    def _separator(self, made: _Draft) -> bool:
        char = self._text[self._at]
        if char not in ";&|()":
            return False
        self._end(made)
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
                is_path = after.isalnum() or after in (".", "_")  # of Windows
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
        """Read `$(…)` or a backtick's command, which is run; anything else that begins with `$` is only text."""
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
        elif match := _PARAMETER.match(text, self._at):
            self._at = match.end()
            return match[0]
        else:
            self._at += 1
            return text[self._at - 1]
        return "$()"
