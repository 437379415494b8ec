"""Which files do not travel: those that stay behind here, and those of others that stay out of this work tree.

One rule judges both ways (`engram.domain.sync.sync_plan.refusal`, and `safe_paths.twins` for names that some file systems
take for one). What stays behind is not committed. What came in and stays out is in the branch, byte for byte, and not
in the work tree: git's index marks it (`skip-worktree`), so that nobody's commit deletes it.
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
_LEFT_OUT, _STAYS = "left-out.json", "stays-behind.json"


def find_twins(
    repo: Repository, before: str | None, added: Collection[str], gone: Collection[str] = ()
) -> dict[str, str]:
    """Return which paths that are added to the commit `before` some file systems take for another one, each with why.

    Files of it that are `gone` do not count.
    """
    if not added:
        return {}
    there = names_in(repo, before, safe_paths.folders_of(added)) if before else {}
    _without(repo, before or "", there, frozenset(gone))
    return {
        path: f"is the same path as {other[:200]!r} on many file systems"
        for path, other in safe_paths.twins(added, there).items()
    }


def _without(repo: Repository, commit: str, there: dict[str, set[str]], gone: Collection[str]) -> None:
    """Take files of the commit that are `gone` out of the names of its folders, and folders that hold nothing else."""
    for path in gone:
        folder, _, name = path.rpartition("/")
        there.get(folder, set()).discard(name)
    for prefix in safe_paths.folders_of(gone) - {""}:
        folder, _, name = prefix.rpartition("/")
        names = there.get(folder, set())
        form = safe_paths.fold_name(name)
        is_twin = name in names and any(
            other != name and safe_paths.fold_name(other) == form for other in names
        )
        if is_twin and entries_at(repo, commit, prefix).keys() <= set(gone):
            names.discard(name)


def refused_files(store: Store, contents: Mapping[str, bytes | None]) -> dict[str, str]:
    """Return which of these files of the work tree may not be committed, each with why.

    A content of None cannot be read. Paths are relative to the work tree.
    """
    repo = store.repository
    head = read_head(repo).oid
    found = {path: why for path, raw in contents.items() if (why := _refusal(store, path, raw))}
    twins = find_twins(repo, head, [path for path in contents if path not in found])
    return found | twins


def _refusal(store: Store, path: str, raw: bytes | None) -> str:
    if raw is None:
        return "cannot be read"
    found = sync_plan.refusal(path, sync_plan.REGULAR[0], len(raw), store.places.folder)
    if found is not None:
        return found.why
    secrets = find_secrets(path, store.allowed_secrets)
    if secrets:
        return f"has a name that holds what looks like a secret ({secrets[0].rule})"
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return NOT_TEXT
    secrets = find_secrets(text, store.allowed_secrets)
    return f"holds what looks like a secret ({secrets[0].rule}, line {secrets[0].line})" if secrets else ""


def note_stays(store: Store, found: Mapping[str, str]) -> None:
    """Note which changed files stay behind, instead of those that were noted before."""
    path = os.path.join(store.places.state, _STAYS)
    # What is no entry and no text (a picture) is not for others, and nobody waits for it.
    found = {path: why for path, why in found.items() if why != NOT_TEXT or path.endswith(".md")}
    if found:
        _write(path, found)
    else:
        atomic.discard(path)


def stays(store: Store) -> dict[str, str]:
    """Return which files of the work tree stay behind, each with why, as of the last commit of what people changed."""
    found = _read(os.path.join(store.places.state, _STAYS))
    return {
        path: why for path, why in found.items() if os.path.lexists(os.path.join(store.places.root, path))
    }


def stays_as_links(store: Store) -> dict[str, str]:
    """Return those that stay behind and that a look at changed files does not find: they are no regular files."""
    found, root = stays(store), store.places.root
    return {path: why for path, why in found.items() if not _is_regular(os.path.join(root, path))}


def _is_regular(file: str) -> bool:
    return os.path.isfile(file) and not os.path.islink(file)


def display_path(path: str) -> str:
    """Return a path as text that every screen and file takes: what is not UTF-8 as escapes, a secret redacted."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return redact(text, find_secrets(text))


def note_left_out(state_folder: str, found: Mapping[str, str]) -> None:
    """Note which files of the branch stay out of the work tree, instead of those that were noted before."""
    path = os.path.join(state_folder, _LEFT_OUT)
    if found:
        os.makedirs(state_folder, exist_ok=True)
        _write(path, found)
    else:
        atomic.discard(path)


def read_left_out(state_folder: str) -> dict[str, str]:
    """Return which files of the branch stay out of the work tree, each with why."""
    return _read(os.path.join(state_folder, _LEFT_OUT))


def _write(path: str, found: Mapping[str, str]) -> None:
    # In ASCII: a name that is not UTF-8 is escaped, and read again as it was.
    with contextlib.suppress(EngramError):
        atomic.write(path, json.dumps(dict(found)).encode("ascii"), "travel", 0o600)


def _read(path: str) -> dict[str, str]:
    try:
        found = json.loads(atomic.read(path))
    except (EngramError, ValueError):
        return {}
    return {str(name): str(why) for name, why in found.items()} if isinstance(found, dict) else {}
