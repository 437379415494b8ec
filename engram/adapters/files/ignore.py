"""Ignore rules of a store that is a whole folder: `.gitignore` and `.engramignore`.

Read here rather than by git, which would cost a process, and since folders outside git have such files, too.
"""

from __future__ import annotations

import os
import re

from engram.domain.typed import NamedTuple

NAMES = (".gitignore", ".engramignore")  # the later one wins
_EXCLUDE = ".git/info/exclude"
_MAX_BYTES = 256 * 1024


class _Rule(NamedTuple):
    """A line of an ignore file; `pattern` matches paths relative to the folder of the file."""

    pattern: re.Pattern[str]
    ignored: bool
    only_folders: bool


class IgnoreRules:
    """The rules below one folder, read on demand. Paths are relative to `root`, with `/`."""

    def __init__(self, root: str, top: str = "") -> None:
        """Apply the rules from `top` (default: `root`) on down, the work tree that contains `root`."""
        self._top = os.path.realpath(top or root)
        below = os.path.relpath(os.path.realpath(root), self._top).replace(os.sep, "/")
        self._prefix = "" if below == "." else f"{below}/"
        self._rules: dict[str, tuple[_Rule, ...]] = {}

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Return whether the last rule that matches a path ignores it; its folders have to be tested separately."""
        full = self._prefix + path
        found = False
        at = -1
        while True:
            folder, rest = full[: max(at, 0)], full[at + 1 :]
            for rule in self._rules_in(folder):
                if (
                    rule.ignored != found
                    and (is_folder or not rule.only_folders)
                    and rule.pattern.fullmatch(rest)
                ):
                    found = rule.ignored
            at = full.find("/", at + 1)
            if at < 0:
                return found

    def stamp(self) -> str:
        """Return a text that changes when the rules at the top or at the root do."""
        folders = dict.fromkeys([self._top, os.path.join(self._top, self._prefix)])
        files = [os.path.join(folder, name) for folder in folders for name in NAMES]
        return "|".join(map(_stamp, [*files, os.path.join(self._top, _EXCLUDE)]))

    def _rules_in(self, folder: str) -> tuple[_Rule, ...]:
        rules = self._rules.get(folder)
        if rules is None:
            names = NAMES if folder else (_EXCLUDE, *NAMES)
            lines = [line for name in names for line in _read_lines(os.path.join(self._top, folder, name))]
            rules = tuple(rule for line in lines if (rule := _parse_rule(line)) is not None)
            self._rules[folder] = rules
        return rules


def _read_lines(file: str) -> list[str]:
    if os.path.islink(file):
        return []
    try:
        with open(file, "rb") as opened:
            return opened.read(_MAX_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _stamp(file: str) -> str:
    try:
        found = os.stat(file)
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def _parse_rule(line: str) -> _Rule | None:
    """Parse a line; None for blank lines, comments and invalid patterns."""
    text = line if line.endswith("\\ ") else line.rstrip()
    if not text or text.startswith("#"):
        return None
    ignored = not text.startswith("!")
    text = text if ignored else text[1:]
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    if not text:
        return None
    anchored = "/" in text
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _translate(text.removeprefix("/")))
    except re.error:
        return None
    return _Rule(pattern, ignored, only_folders)


def _translate(glob: str) -> str:
    """Translate a pattern of git's into a regular expression."""
    expression, at = "", 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            expression, at = expression + "(?:.*/)?", at + 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            expression, at = expression + ".+", at + 2
        elif char == "*":
            expression, at = expression + "[^/]*", at + 1
        elif char == "?":
            expression, at = expression + "[^/]", at + 1
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\")
            expression, at = expression + f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]", end + 1
        elif char == "\\" and at + 1 < len(glob):
            expression, at = expression + re.escape(glob[at + 1]), at + 2
        else:
            expression, at = expression + re.escape(char), at + 1
    return expression
