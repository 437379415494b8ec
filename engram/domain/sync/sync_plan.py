"""The plan of a sync: incoming and outgoing paths, paths that both sides changed, and files that are refused.

A file is what a commit has at a path, (mode, object id), or None.
"""

from __future__ import annotations

import hashlib
import re

from engram.domain.admission.safe_paths import OWN_NAMES, execution_risk, impostor, is_attack, unsafe_name
from engram.domain.entry.named_files import FOLDERS, HOME, SKIPPED_FOLDERS, below, is_named
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    File = tuple[str, str] | None

LARGEST_LORE = 256 * 1024  # bytes
LARGEST_OTHER = 8 * 1024 * 1024
# Total of one fetch: a remote can send blobs of zeros at little cost.
LARGEST_SUM = 256 * 1024 * 1024
LARGEST_COMMIT = 256 * 1024  # including message and signature
REGULAR = ("100644", "100755")
RUNS = "is executable"
OTHER_VERSION = re.compile(r"\.theirs-[0-9a-f]{8}$")  # suffix of `other_version_path`
_HOME_FOLDERS = tuple(f"{HOME}/{name}/" for name in FOLDERS)
WHAT = {"120000": "a symbolic link", "160000": "a submodule"}


class Plan(NamedTuple):
    """Paths that only they changed, that only we changed, and that both changed, differently."""

    incoming: tuple[str, ...] = ()
    outgoing: tuple[str, ...] = ()
    to_merge: tuple[str, ...] = ()


def plan(ours: Mapping[str, File], theirs: Mapping[str, File]) -> Plan:
    """Return the plan, given the current files that each side changed since the base."""
    both = ours.keys() & theirs.keys()
    return Plan(
        tuple(sorted(theirs.keys() - both)),
        tuple(sorted(ours.keys() - both)),
        tuple(sorted(path for path in both if ours[path] != theirs[path])),
    )


def is_lore(path: str, folder: str) -> bool:
    """Return whether a path is that of an entry in the lore folder `folder`."""
    prefix = below(folder)
    parts = path.removeprefix(prefix).split("/")
    if not path.startswith(prefix) or not path.endswith(".md") or any(part.startswith(".") for part in parts):
        return False
    if not folder:
        return SKIPPED_FOLDERS.isdisjoint(parts[:-1]) and not path.startswith(_HOME_FOLDERS)
    return len(parts) == 1 or parts[0] not in FOLDERS


def is_merged_by_field(path: str, folder: str) -> bool:
    """Return whether versions of a file are merged by field: those of an entry, an entity or an agent."""
    return is_lore(path, folder) or is_named(path, folder)


def other_version_path(path: str, content: bytes) -> str:
    """Return the path for the other version of a file that is not lore."""
    return f"{path}.theirs-{hashlib.sha256(content).hexdigest()[:8]}"


def merge_whole_file(base: File, one: File, other: File) -> tuple[File, bool]:
    """Merge a file that both sides changed without reading its content; return it, and whether the other side lost.

    `one` is the winning side.
    """
    if one == other or other == base:
        return one, False
    if one == base:
        return other, False
    if one is None or other is None:
        return one or other, False
    return one, True


class Refusal(NamedTuple):
    """Why a file is refused, as the end of a sentence; `stops` means that its whole commit is refused."""

    why: str
    stops: bool


def judge_file(path: str, mode: str, size: int, folder: str) -> Refusal | None:
    """Judge an incoming or outgoing file, by the same rules; return None if it is allowed. `size` is in bytes."""
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


def find_clash(present: Iterable[str]) -> str:
    """Return the first path that would have to be both a file and a folder, or ""."""
    files = set(present)
    for path in sorted(files):
        at = path.find("/")
        while at >= 0:
            if path[:at] in files:
                return path[:at]
            at = path.find("/", at + 1)
    return ""
