"""Change some files in a commit's tree, reading and writing only the folders that contain them.

`git fast-import` can do that, too, but builds a table of all names in those folders: half a second for 1,000 of them.
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

    # The new state of the names in a folder: a file, None for none, or the edits of a sub-folder.
    Edits = dict[bytes, "Entry | Edits | None"]
    Folder = dict[bytes, tuple[bytes, bytes]]  # by name: mode and id, as in git's tree objects

_FOLDER = b"40000"


class Folders(NamedTuple):
    """The contents of some folders of a commit, by path."""

    commit: str
    by_path: dict[bytes, Folder]


def read_folders(repo: Repository, commit: str, paths: Iterable[str], ids: Mapping[str, str]) -> Folders:
    """Read the folders of `commit` that contain these files, for `edit_tree`. Raises GitError.

    `ids` are known ids of folders, by path, which save git from walking down to them.
    """
    wanted = _folder_paths(_nest(dict.fromkeys(paths)), b"")
    return Folders(commit, _read_trees(repo, commit, [b"", *wanted], ids))


def edit_tree(
    repo: Repository,
    commit: str,
    edits: Mapping[str, Entry | None],
    objects: NewObjects,
    known: Folders | None = None,
) -> str:
    """Return the id of the tree of `commit` with these files changed (None: deleted); add new trees to `objects`.

    A file replaces a folder at the same path, and vice versa. `known` are folders that need not be read again.
    Raises GitError.
    """
    nested = _nest(edits)
    editor = _TreeEditor(repo, commit, nested, objects, known)
    return editor.change(b"", nested) or objects.add(TREE, b"")


def _nest(edits: Mapping[str, Entry | None]) -> Edits:
    top: Edits = {}
    # Deletions first, so that a file can take the place of a folder, and vice versa.
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


class _TreeEditor:
    """The folders of a commit that will change."""

    def __init__(
        self, repo: Repository, commit: str, edits: Edits, objects: NewObjects, known: Folders | None
    ) -> None:
        self._objects = objects
        self._repo, self._commit = repo, commit
        self._found = dict(known.by_path) if known is not None and known.commit == commit else {}
        wanted = [path for path in (b"", *_folder_paths(edits, b"")) if path not in self._found]
        if wanted:
            self._found |= _read_trees(repo, commit, wanted)
        if b"" not in self._found:
            raise _damage_error(repo, commit)

    def change(self, path: bytes, edits: Edits) -> str | None:
        """Return the id of the changed folder; None if it is empty."""
        entries = dict(self._found.get(path, {}))
        old_modes = {name: entries[name][0] for name in edits if name in entries}
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
        if any(
            _sorts_differently(old_modes.get(name), entries[name][0]) for name in edits if name in entries
        ):
            # Git sorts folders as if their names ended in a slash.
            names.sort(key=lambda name: name + b"/" if entries[name][0] == _FOLDER else name)
        return self._objects.add(
            TREE, b"".join(b"%s %s\0%s" % (entries[name][0], name, entries[name][1]) for name in names)
        )


def _sorts_differently(before: bytes | None, after: bytes) -> bool:
    """Return whether an entry that changed to this mode needs another place in its folder."""
    return before != after and (before is None or _FOLDER in (before, after))


def _folder_paths(edits: Edits, path: bytes) -> Iterable[bytes]:
    for name, edit in edits.items():
        if isinstance(edit, dict):
            inner = _join(path, name)
            yield inner
            yield from _folder_paths(edit, inner)


def _read_trees(
    repo: Repository, commit: str, paths: list[bytes], ids: Mapping[str, str] = MappingProxyType({})
) -> dict[bytes, Folder]:
    """Return the folders at those paths that are folders. Raises GitError if one is damaged."""
    known = {os.fsencode(path): oid.encode() for path, oid in ids.items()}
    names = [known.get(path) or _object_name(repo, commit, path) for path in paths]
    findall = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % (len(commit) // 2), re.DOTALL).findall
    return {
        path: {name: (mode, oid) for mode, name, oid in findall(tree.content)}
        for path, tree in zip(paths, read(repo, names), strict=True)
        if tree and tree.kind == TREE
    }


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _damage_error(repo: Repository, commit: str) -> GitError:
    return failures.damage(repo.worktree, f"a folder of {commit[:10]} cannot be read", "bad tree object")


def _object_name(repo: Repository, commit: str, path: bytes) -> bytes:
    """Return git's name for a folder: its id if the path has a line break, which `git cat-file` does not accept."""
    if b"\n" not in path:
        return commit.encode() + b":" + path
    words = ("rev-parse", "--verify", "--quiet", f"{commit}:{os.fsdecode(path)}")
    return run(repo, *words, check=False).stdout.strip() or b"0" * len(commit)
