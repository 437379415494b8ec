"""Files excluded from sync: local files that are not committed, and incoming files that are not checked out.

The same rules apply both ways (`engram.domain.sync.sync_plan.judge_file`, and `safe_paths.twins` for names that some file
systems treat as equal). An excluded incoming file stays in the branch, byte for byte, and is marked `skip-worktree` in
git's index, so that no commit deletes it.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read.differences import names_in
from engram.adapters.git.read.revisions import entries_at
from engram.adapters.git.run.layout import Repository, read_head
from engram.domain.admission import safe_paths
from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.errors import EngramError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from engram.usecases.store.store import Store

NOT_TEXT = "is not text in UTF-8"
_LEFT_OUT_FILE, _STAYS_FILE = "left-out.json", "stays-behind.json"


def find_twins(
    repo: Repository, before: str | None, added: Collection[str], gone: Collection[str] = ()
) -> dict[str, str]:
    """Return the paths added to the commit `before` that some file systems treat as equal to another, each with why.

    Files of the commit that are `gone` do not count.
    """
    if not added:
        return {}
    names = names_in(repo, before, safe_paths.folders_of(added)) if before else {}
    _remove_gone(repo, before or "", names, frozenset(gone))
    return {
        path: f"is the same path as {other[:200]!r} on many file systems"
        for path, other in safe_paths.twins(added, names).items()
    }


def _remove_gone(
    repo: Repository, commit: str, names_by_folder: dict[str, set[str]], gone: Collection[str]
) -> None:
    """Remove the files of the commit that are `gone` from these names, and folders that had no others."""
    for path in gone:
        folder, _, name = path.rpartition("/")
        names_by_folder.get(folder, set()).discard(name)
    for prefix in safe_paths.folders_of(gone) - {""}:
        folder, _, name = prefix.rpartition("/")
        names = names_by_folder.get(folder, set())
        form = safe_paths.fold_name(name)
        is_twin = name in names and any(
            other != name and safe_paths.fold_name(other) == form for other in names
        )
        if is_twin and entries_at(repo, commit, prefix).keys() <= set(gone):
            names.discard(name)


def refused_files(store: Store, contents: Mapping[str, bytes | None]) -> dict[str, str]:
    """Return the files of the work tree that must not be committed, each with why.

    Paths are relative to the work tree; the content None means that the file cannot be read.
    """
    repo = store.repository
    head = read_head(repo).oid
    found = {path: why for path, raw in contents.items() if (why := _refusal(store, path, raw))}
    return found | find_twins(repo, head, [path for path in contents if path not in found])


def _refusal(store: Store, path: str, raw: bytes | None) -> str:
    if raw is None:
        return "cannot be read"
    refusal = sync_plan.judge_file(path, sync_plan.REGULAR[0], len(raw), store.places.folder)
    if refusal is not None:
        return refusal.why
    secrets = find_secrets(path, store.allowed_secrets)
    if secrets:
        return f"has a name that holds what looks like a secret ({secrets[0].rule})"
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return NOT_TEXT
    secrets = find_secrets(text, store.allowed_secrets)
    return f"holds what looks like a secret ({secrets[0].rule}, line {secrets[0].line})" if secrets else ""


def note_uncommitted(store: Store, found: Mapping[str, str]) -> None:
    """Replace the list of local files that are not committed, each with why."""
    path = os.path.join(store.places.state, _STAYS_FILE)
    # Nobody expects a binary file that is no entry, such as an image, to be synced.
    found = {path: why for path, why in found.items() if why != NOT_TEXT or path.endswith(".md")}
    if found:
        _write(path, found)
    else:
        atomic.discard(path)


def uncommitted_files(store: Store) -> dict[str, str]:
    """Return the local files that are not committed, each with why, as of the last commit of edits by hand."""
    found = _read(os.path.join(store.places.state, _STAYS_FILE))
    return {
        path: why for path, why in found.items() if os.path.lexists(os.path.join(store.places.root, path))
    }


def uncommitted_links(store: Store) -> dict[str, str]:
    """Return those of `uncommitted_files` that are no regular files, which a search for changed files does not find."""
    found, root = uncommitted_files(store), store.places.root
    return {path: why for path, why in found.items() if not _is_regular(os.path.join(root, path))}


def _is_regular(file: str) -> bool:
    return os.path.isfile(file) and not os.path.islink(file)


def display_path(path: str) -> str:
    """Return a path as valid text: bytes that are not UTF-8 are escaped, secrets redacted."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return redact(text, find_secrets(text))


def note_left_out(state_folder: str, found: Mapping[str, str]) -> None:
    """Replace the list of files of the branch that are not checked out, each with why."""
    path = os.path.join(state_folder, _LEFT_OUT_FILE)
    if found:
        os.makedirs(state_folder, exist_ok=True)
        _write(path, found)
    else:
        atomic.discard(path)


def read_left_out(state_folder: str) -> dict[str, str]:
    """Return the files of the branch that are not checked out, each with why."""
    return _read(os.path.join(state_folder, _LEFT_OUT_FILE))


def _write(path: str, found: Mapping[str, str]) -> None:
    # ASCII, since names that are not UTF-8 survive only as escapes.
    with contextlib.suppress(EngramError):
        atomic.write(path, json.dumps(dict(found)).encode("ascii"), "travel", 0o600)


def _read(path: str) -> dict[str, str]:
    try:
        found = json.loads(atomic.read(path))
    except (EngramError, ValueError):
        return {}
    return {str(name): str(why) for name, why in found.items()} if isinstance(found, dict) else {}
