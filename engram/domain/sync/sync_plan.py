"""The plan of a sync: what comes in, what goes out, what both sides changed; and the files that it refuses.

A file is what a commit has at a path: (mode, object id), or None for nothing.
"""

from __future__ import annotations

import hashlib
import re

from engram.domain.admission.safe_paths import OWN_NAMES, execution_risk, impostor, is_attack, unsafe_name
from engram.domain.entry.named_files import FOLDERS, HOME, PASSED_OVER, below, is_named
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    File = tuple[str, str] | None

LARGEST_LORE = 256 * 1024  # bytes
LARGEST_OTHER = 8 * 1024 * 1024
# Of all that comes in at once: blobs of nothing but zeros cost a remote little.
LARGEST_SUM = 256 * 1024 * 1024
LARGEST_COMMIT = 256 * 1024  # message, signature and all
REGULAR = ("100644", "100755")
RUNS = "is executable"
OTHER_VERSION = re.compile(r"\.theirs-[0-9a-f]{8}$")  # the end of a path from `other_version_path`
_OWN_OF_WHOLE = tuple(f"{HOME}/{name}/" for name in FOLDERS)
WHAT = {"120000": "a symbolic link", "160000": "a submodule"}


class Plan(NamedTuple):
    """The paths that only they changed, that only we changed, and that both did, differently."""

    incoming: tuple[str, ...] = ()
    outgoing: tuple[str, ...] = ()
    to_merge: tuple[str, ...] = ()


def plan(ours: Mapping[str, File], theirs: Mapping[str, File]) -> Plan:
    """Return the plan that follows from the files that each side changed since the base, as they are now."""
    both = ours.keys() & theirs.keys()
    return Plan(
        tuple(sorted(theirs.keys() - both)),
        tuple(sorted(ours.keys() - both)),
        tuple(sorted(path for path in both if ours[path] != theirs[path])),
    )


def is_lore(path: str, folder: str) -> bool:
    """Return whether a path is that of an entry's file in the lore folder `folder`."""
    prefix = below(folder)
    parts = path.removeprefix(prefix).split("/")
    if not path.startswith(prefix) or not path.endswith(".md") or any(part.startswith(".") for part in parts):
        return False
    if not folder:
        return PASSED_OVER.isdisjoint(parts[:-1]) and not path.startswith(_OWN_OF_WHOLE)
    return len(parts) == 1 or parts[0] not in FOLDERS


def is_by_fields(path: str, folder: str) -> bool:
    """Return whether two versions of a file are merged by field: an entry, an entity, an agent."""
    return is_lore(path, folder) or is_named(path, folder)


def other_version_path(path: str, content: bytes) -> str:
    """Return the path at which another version of a file that is not lore is kept."""
    return f"{path}.theirs-{hashlib.sha256(content).hexdigest()[:8]}"


def three_way(base: File, one: File, other: File) -> tuple[File, bool]:
    """Return the merge of a file that both changed, without looking into its content, and whether the other side lost.

    `one` is the side that wins.
    """
    if one == other or other == base:
        return one, False
    if one == base:
        return other, False
    if one is None or other is None:
        return one or other, False
    return one, True


class Refusal(NamedTuple):
    """Why a file may not travel, as the end of a sentence; `stops` says that nothing of its commit is taken."""

    why: str
    stops: bool


def refusal(path: str, mode: str, size: int, folder: str) -> Refusal | None:
    """Judge a file that comes in or goes out, the same both ways; None where it may. `size` in bytes."""
    why = (
        unsafe_name(path)
        or impostor(path, folder)
        or execution_risk(path)
        or _refused_kind(path, mode, size, folder)
    )
    return Refusal(why, is_attack(path, folder)) if why else None


def _refused_kind(path: str, mode: str, size: int, folder: str) -> str:
    if mode not in REGULAR:
        return f"is {WHAT.get(mode, 'not a regular file')}"
    if mode == REGULAR[1] and path not in OWN_NAMES:
        return RUNS
    limit = LARGEST_LORE if path.startswith(below(folder)) else LARGEST_OTHER
    return f"has {size:,} bytes, more than the {limit:,} allowed" if size > limit else ""


def clash(present: Iterable[str]) -> str:
    """Return a path that would have to be a file and a folder at once, or ""."""
    files = set(present)
    for path in sorted(files):
        at = path.find("/")
        while at >= 0:
            if path[:at] in files:
                return path[:at]
            at = path.find("/", at + 1)
    return ""
