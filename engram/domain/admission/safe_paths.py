"""Which paths of a remote may be written: none that leads out of the store, hides, or equals another path.

Names are checked by the rules of every file system, not only the local one, since a store is cloned everywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engram.domain.entry.named_files import DEVICES
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

LONGEST_NAME, LONGEST_PATH = 240, 1000  # bytes; leaves room for the suffix of a temporary file
# Characters that HFS+ ignores when it compares names (git's list, utf8.c: next_hfs_char).
IGNORED = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)
GIT_NAMES = frozenset((".git", "git~1"))
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(\.md)?")  # nearly all names, which need no further checks
# Names that agents, editors and shells run or obey when somebody opens the folder.
_TRIGGER_NAMES = frozenset(
    (
        ".claude",
        ".codex",
        ".cursor",
        ".gemini",
        ".vscode",
        ".idea",
        ".envrc",
        ".mcp.json",
        ".husky",
        ".devcontainer",
    )
)
_CACHE_SIZE = 1000  # names: a sync checks each path several times, and its folders with every path
_NOT_IN_WINDOWS = frozenset('<>:"|?*')
_OUTSIDE, _IN_GIT = "leads out of the store", "would lie in a .git folder"
_WINDOWS = "has a name that Windows has no file for"
OWN_NAMES = (".engram.toml", ".gitattributes")  # at the top of a store
# Names that read backwards on a screen, break lines there, or hide text: UAX #9 embeddings, overrides and
# isolates; C1 controls; line separators; tag characters.
_DECEIVING = frozenset(
    map(chr, (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029))
) | frozenset(map(chr, range(0xE0000, 0xE0080)))


def unsafe_name(path: str) -> str:
    """Return why a path is unsafe to write, on whatever system; "" if it is safe."""
    if len(path.encode("utf-8", "surrogateescape")) > LONGEST_PATH:
        return "has a path that is too long"
    for part in path.split("/"):
        why = _unsafe_part(part)
        if why:
            return why
    return ""


def impostor(path: str, folder: str) -> str:
    """Return why a path could be mistaken for one of the store's own, or is interpreted by git; "" if neither.

    `folder` is the lore folder.
    """
    parts = path.split("/")
    if fold_name(parts[0]) == ".gitmodules":
        return "declares submodules"
    for own in (*OWN_NAMES, folder):
        for count, part in enumerate(own.split("/")):
            if count >= len(parts) or fold_name(parts[count]) != fold_name(part):
                break
            if parts[count] != part:
                return f"has a name that some file systems take for {own}"
    return ""


def is_attack(path: str, folder: str) -> bool:
    """Return whether a path leads out of the store, into a git folder, or replaces a file or folder that makes a store.

    Such a path is never a mistake. `folder` is the lore folder.
    """
    if path in OWN_NAMES or path == folder or folder.startswith(f"{path}/"):
        return True
    return any(_unsafe_part(part) in (_OUTSIDE, _IN_GIT) for part in path.split("/"))


def execution_risk(path: str) -> str:
    """Return why programs may run or obey a file as soon as its folder is opened; "" if none does."""
    found = next((part for part in map(fold_name, path.split("/")) if part in _TRIGGER_NAMES), "")
    return f"lies in or is {found}, which programs act upon by themselves" if found else ""


def twins(added: Iterable[str], existing: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the added paths that some file systems treat as equal to another path, with that path.

    `existing` has the names in their folders before, by folder ("": the top). Of two added paths that are equal, the
    second in order is returned.
    """
    known = {folder: {fold_name(name): name for name in names} for folder, names in existing.items()}
    found: dict[str, str] = {}
    for path in sorted(added):
        folder = ""
        for name in path.split("/"):
            first = known.setdefault(folder, {}).setdefault(fold_name(name), name)
            if first != name and name not in existing.get(folder, ()):
                found[path] = f"{folder}/{first}".lstrip("/")
                break
            folder = f"{folder}/{name}".lstrip("/")
    return found


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return all folders above these paths, including the top ("")."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


@lru_cache(_CACHE_SIZE)
def fold_name(name: str) -> str:
    """Fold a name as the least discriminating file systems do: case, Unicode form, invisible letters, trailing dots and spaces."""
    if not name.isascii():
        from unicodedata import normalize

        plain = "".join(letter for letter in name if letter not in IGNORED)
        name = normalize("NFC", normalize("NFD", plain).casefold())
    return name.casefold().rstrip(" .")


@lru_cache(_CACHE_SIZE)
def _unsafe_part(part: str) -> str:
    if len(part) <= LONGEST_NAME and _PLAIN.fullmatch(part):
        return _WINDOWS if _is_device(part) else ""
    plain = "".join(letter for letter in part if letter not in IGNORED).casefold().rstrip(" .")
    if part in ("", ".", "..") or not plain:
        return _OUTSIDE
    # NTFS: the part after `:` names a stream of the file.
    if plain.partition(":")[0].rstrip(" .") in GIT_NAMES:
        return _IN_GIT
    if "\\" in part or any(letter < " " or letter == "\x7f" for letter in part):
        return "has a name with control characters or backslashes"
    if any("\ud800" <= letter <= "\udfff" for letter in part):
        return "has a name that is not UTF-8"
    if not _DECEIVING.isdisjoint(part):
        return "has a name with characters that reorder or hide text"
    if part.endswith(".engram-tmp"):
        return "has the name of a temporary file of Engram"
    if not _NOT_IN_WINDOWS.isdisjoint(part) or part.endswith((" ", ".")) or _is_device(part):
        return _WINDOWS
    return "has a name that is too long" if len(part.encode()) > LONGEST_NAME else ""


def _is_device(part: str) -> bool:
    return part.partition(".")[0].rstrip(" ").casefold() in DEVICES
