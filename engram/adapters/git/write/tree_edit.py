"""Change some files in a commit's tree: only the folders on the way to them are read and written.

`git fast-import` can do it too, but builds a table of all names in those folders: half a second for 1,000 of them.
"""

from __future__ import annotations

import os
import re
from types import MappingProxyType

from engram.adapters.git.read.objects import TREE, Entry, read
from engram.adapters.git.run import failures
from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.pack import NewObjects
    from engram.domain.errors import GitError

    # The new state of the names in a folder: a file, nothing, or the edits of a folder in it.
    Edits = dict[bytes, "Entry | Edits | None"]
    Folder = dict[bytes, tuple[bytes, bytes]]  # by name: mode and id, as git writes them in it

_FOLDER = b"40000"


class Folders(NamedTuple):
    """Folders of a commit, by path."""

    commit: str
    by_path: dict[bytes, Folder]


def read_folders(repo: Repository, commit: str, paths: Iterable[str], ids: Mapping[str, str]) -> Folders:
    """Read the folders on the way to these files of `commit`, for `edit_tree` upon it. Raises GitError.

    For a folder whose id is known, by path, git need not go through those above it.
    """
    wanted = _paths(_nest(dict.fromkeys(paths)), b"")
    return Folders(commit, _read(repo, commit, [b"", *wanted], ids))


def edit_tree(
    repo: Repository,
    commit: str,
    edits: Mapping[str, Entry | None],
    objects: NewObjects,
    known: Folders | None = None,
) -> str:
    """Return the id of the tree of `commit` with these files changed (None: deleted); add its new parts to `objects`.

    A file replaces a folder at the same path, and the other way round. `known` are folders that need not be read again.
    Raises GitError.
    """
    nested = _nest(edits)
    folders = _Folders(repo, commit, nested, objects, known)
    return folders.change(b"", nested) or objects.add(TREE, b"")


def _nest(edits: Mapping[str, Entry | None]) -> Edits:
    top: Edits = {}
    # Deletions first: whatever takes the place of something comes after it.
    for path, entry in sorted(edits.items(), key=lambda item: (item[1] is not None, item[0])):
        *folders, name = os.fsencode(path).split(b"/")
        inner = top
        for folder in folders:
            below = inner.get(folder)
            if not isinstance(below, dict):
                below = inner[folder] = {}
            inner = below
        if entry is not None or name not in inner:
            inner[name] = entry
    return top


class _Folders:
    """The folders of a commit that are to be changed."""

    def __init__(
        self, repo: Repository, commit: str, edits: Edits, objects: NewObjects, known: Folders | None
    ) -> None:
        self._objects = objects
        self._repo, self._commit = repo, commit
        self._found = dict(known.by_path) if known is not None and known.commit == commit else {}
        wanted = [path for path in (b"", *_paths(edits, b"")) if path not in self._found]
        if wanted:
            self._found |= _read(repo, commit, wanted)
        if b"" not in self._found:
            raise _damage_error(repo, commit)

    def change(self, path: bytes, edits: Edits) -> str | None:
        """Return the id of what this folder becomes; None where nothing is left in it."""
        entries = dict(self._found.get(path, {}))
        was = {name: entries[name][0] for name in edits if name in entries}
        for name, edit in edits.items():
            if isinstance(edit, dict):
                inner, is_folder = _join(path, name), entries.get(name, (b"",))[0] == _FOLDER
                if is_folder and inner not in self._found:
                    raise _damage_error(self._repo, self._commit)
                oid = self.change(inner, edit)
                if oid is not None:
                    entries[name] = (_FOLDER, bytes.fromhex(oid))
                elif is_folder:
                    del entries[name]
            elif edit is None:
                entries.pop(name, None)
            else:
                entries[name] = (edit.mode.lstrip("0").encode(), bytes.fromhex(edit.oid))
        if not entries:
            return None
        names = list(entries)
        if any(_moves(was.get(name), entries[name][0]) for name in edits if name in entries):
            # Git sorts folders as if their names ended in a slash.
            names.sort(key=lambda name: name + b"/" if entries[name][0] == _FOLDER else name)
        return self._objects.add(
            TREE, b"".join(b"%s %s\0%s" % (entries[name][0], name, entries[name][1]) for name in names)
        )


def _moves(before: bytes | None, after: bytes) -> bool:
    """Return whether something with these modes is sorted differently in its folder than before."""
    return before != after and (before is None or _FOLDER in (before, after))


def _paths(edits: Edits, path: bytes) -> Iterable[bytes]:
    for name, edit in edits.items():
        if isinstance(edit, dict):
            inner = _join(path, name)
            yield inner
            yield from _paths(edit, inner)


def _read(
    repo: Repository, commit: str, paths: list[bytes], ids: Mapping[str, str] = MappingProxyType({})
) -> dict[bytes, Folder]:
    """Return the folders at the paths; what is not there or no folder is left out. Raises GitError where one is damaged."""
    known = {os.fsencode(path): oid.encode() for path, oid in ids.items()}
    asked = [known.get(path) or _name(repo, commit, path) for path in paths]
    matched = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % (len(commit) // 2), re.DOTALL).findall
    return {
        path: {name: (mode, oid) for mode, name, oid in matched(one.content)}
        for path, one in zip(paths, read(repo, asked), strict=True)
        if one and one.kind == TREE
    }


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _damage_error(repo: Repository, commit: str) -> GitError:
    return failures.damage(repo.worktree, f"a folder of {commit[:10]} cannot be read", "bad tree object")


def _name(repo: Repository, commit: str, path: bytes) -> bytes:
    """Return a name for a folder: its id if the path has a line break, for which `git cat-file` cannot be asked."""
    if b"\n" not in path:
        return commit.encode() + b":" + path
    words = ("rev-parse", "--verify", "--quiet", f"{commit}:{os.fsdecode(path)}")
    return run(repo, *words, check=False).stdout.strip() or b"0" * len(commit)
