"""Which files of a whole store are none of its entries: what `.gitignore` and `.engramignore` name.

Read here and not asked of git: it costs no process, and a folder outside git has such files, too.
"""

from __future__ import annotations

import os
import re

from engram.domain.typed import NamedTuple

NAMES = (".gitignore", ".engramignore")  # the later one wins
_EXCLUDE = ".git/info/exclude"
_MAX_BYTES = 256 * 1024


class _Rule(NamedTuple):
    """One line: what it matches of a path relative to the folder of its file, and what that means."""

    pattern: re.Pattern[str]
    ignored: bool
    only_folders: bool


class IgnoreRules:
    """The rules below one folder, read as they are needed. Paths are relative to `root`, with `/`."""

    def __init__(self, root: str, top: str = "") -> None:
        """Rules count from `top` on, the work tree that `root` is in."""
        self._top = os.path.realpath(top or root)
        below = os.path.relpath(os.path.realpath(root), self._top).replace(os.sep, "/")
        self._prefix = "" if below == "." else f"{below}/"
        self._rules: dict[str, tuple[_Rule, ...]] = {}

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Return whether the last rule that matches a path, or none of its folders, leaves it out."""
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
        """Return a text that changes with the rules at the top and at the root."""
        folders = dict.fromkeys([self._top, os.path.join(self._top, self._prefix)])
        files = [os.path.join(folder, name) for folder in folders for name in NAMES]
        return "|".join(map(_stamp, [*files, os.path.join(self._top, _EXCLUDE)]))

    def _rules_in(self, folder: str) -> tuple[_Rule, ...]:
        known = self._rules.get(folder)
        if known is None:
            names = NAMES if folder else (_EXCLUDE, *NAMES)
            lines = [line for name in names for line in _lines(os.path.join(self._top, folder, name))]
            known = tuple(rule for line in lines if (rule := _rule(line)) is not None)
            self._rules[folder] = known
        return known


def _lines(file: str) -> list[str]:
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


def _rule(line: str) -> _Rule | None:
    """Return the rule of a line; None for blank lines, comments and what is no pattern."""
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
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _expression(text.removeprefix("/")))
    except re.error:
        return None
    return _Rule(pattern, ignored, only_folders)


def _expression(glob: str) -> str:
    """Return the regular expression of a pattern of git's."""
    found, at = "", 0
    while at < len(glob):
        letter = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            found, at = found + "(?:.*/)?", at + 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            found, at = found + ".+", at + 2
        elif letter == "*":
            found, at = found + "[^/]*", at + 1
        elif letter == "?":
            found, at = found + "[^/]", at + 1
        elif letter == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\")
            found, at = found + f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]", end + 1
        elif letter == "\\" and at + 1 < len(glob):
            found, at = found + re.escape(glob[at + 1]), at + 2
        else:
            found, at = found + re.escape(letter), at + 1
    return found
