"""Read facts about a repository from its files, in microseconds and without starting git.

Sources: gitrepository-layout(5) for `.git` files, `commondir`, HEAD, loose and packed refs; the names of the
state files of interrupted operations are those that `git status` itself looks for (wt-status.c).
"""

from __future__ import annotations

import os
import stat

from engram.domain.errors import EngramError, GitError
from engram.domain.typed import NamedTuple

MAIN = "main"
BRANCHES = "refs/heads/"
REFTABLE_HEAD = "refs/heads/.invalid"  # the content of HEAD if refs are in reftables
SYMREF_DEPTH = 5
OPERATIONS = (  # in the order in which `git status` reports them
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_UNFINISHED = {
    "rebase": "git rebase --continue` or `git rebase --abort",
    "merge": "git commit` or `git merge --abort",
    "cherry-pick": "git cherry-pick --continue` or `git cherry-pick --abort",
    "revert": "git revert --continue` or `git revert --abort",
    "bisect": "git bisect reset",
}


class Repository(NamedTuple):
    """One work tree of a repository; all paths absolute, symbolic links resolved.

    `git_dir` holds this work tree's own HEAD and index, `common_dir` everything that all work trees share.
    `worktree_name` is "main", or the name under which git keeps a linked work tree.
    """

    worktree: str
    git_dir: str
    common_dir: str
    worktree_name: str


class Head(NamedTuple):
    """The state of HEAD. `oid` is None on a branch without commits, `branch` is None if HEAD is detached."""

    oid: str | None
    branch: str | None


def find_repository(path: str) -> Repository | None:
    """Return the repository whose work tree contains `path`, which need not exist; None if there is none.

    None also inside a bare repository or a `.git` folder, and if a `.git` file points nowhere: continuing to
    an outer repository would write into somebody else's history.
    """
    folder = os.path.realpath(path)
    while True:
        marker = os.path.join(folder, ".git")
        if os.path.isfile(marker):
            git_dir = _read_pointer(marker, "gitdir:")
            return _open(folder, git_dir) if _is_git_dir(git_dir) else None
        if _is_git_dir(marker):
            return _open(folder, marker)
        parent = os.path.dirname(folder)
        if parent == folder or _is_git_dir(folder):
            return None
        folder = parent


def common_dir_at(folder: str) -> str | None:
    """Return the common git folder of a repository if `folder` is the top of a work tree or a git folder, else None."""
    marker = os.path.join(folder, ".git")
    if os.path.lexists(marker):
        git_dir = _read_pointer(marker, "gitdir:") if os.path.isfile(marker) else marker
        return _common_dir(git_dir) if _is_git_dir(git_dir) else None
    if not _is_git_dir(folder):
        return None
    # A bare repository inside a work tree may have been pulled with it, and its configuration may name programs.
    common_dir, around = _common_dir(folder), find_repository(os.path.dirname(folder))
    return common_dir if around is None or around.common_dir == common_dir else None


def repository_at(path: str) -> Repository | None:
    """Return the repository as `find_repository` does, or a bare one: its `worktree` is the git folder, where git can run."""
    found = find_repository(path)
    folder = os.path.realpath(path)
    while found is None:
        common_dir, parent = common_dir_at(folder), os.path.dirname(folder)
        if common_dir is not None:
            return Repository(common_dir, common_dir, common_dir, MAIN)
        if parent == folder or os.path.lexists(os.path.join(folder, ".git")):
            return None
        folder = parent
    return found


def read_head(repo: Repository) -> Head:
    """Return HEAD's commit and branch. Raises `GitError` if HEAD or the branch cannot be read."""
    text = _read_text(os.path.join(repo.git_dir, "HEAD"))
    if text is None:
        raise _damage_error(repo, "HEAD is missing")
    if not text.startswith("ref:"):
        return Head(_check_oid(repo, "HEAD", text), None)
    name = text.removeprefix("ref:").strip()
    if name == REFTABLE_HEAD:
        return _read_head_with_git(repo)
    return Head(_resolve(repo, name), name.removeprefix(BRANCHES))


def read_ref(repo: Repository, name: str) -> str | None:
    """Return the commit of a ref (`refs/…`); None if there is no such ref."""
    if (_read_text(os.path.join(repo.git_dir, "HEAD")) or "").removeprefix("ref:").strip() == REFTABLE_HEAD:
        return _resolve_with_git(repo, name)
    try:
        return _resolve(repo, name)
    except GitError:  # a remote's ref may have any name, and clash with one of git's files
        return _resolve_with_git(repo, name)


def operation_in_progress(repo: Repository) -> str | None:
    """Return the reason why no commit may be made now (rebase, merge, cherry-pick, revert, bisect, detached), or None."""
    for name, operation in OPERATIONS:
        if os.path.exists(os.path.join(repo.git_dir, name)):
            return operation
    # Between two steps of a cherry-pick or revert of several commits only the to-do list exists.
    step = (_read_text(os.path.join(repo.git_dir, "sequencer", "todo")) or "").split(" ", 1)[0]
    if step:
        return "revert" if step == "revert" else "cherry-pick"
    return None if read_head(repo).branch else "detached"


def check_idle(
    repo: Repository, error: type[EngramError], undone: str, *, may_be_detached: bool = False
) -> None:
    """Raise this error if no commit may be made now; `undone` is a participle for the message: "committed"."""
    state = operation_in_progress(repo)
    if state == "detached" and not may_be_detached:
        message = f"HEAD is detached in {repo.worktree}, so a commit would belong to no branch; nothing was {undone}."
        raise error(message, "Go to a branch (`git switch <branch>`), then try again.")
    if state in _UNFINISHED:
        hint = f"Finish it (`{_UNFINISHED[state]}`), then try again: nothing is lost."
        raise error(f"A git {state} is under way in {repo.worktree}; nothing was {undone}.", hint)


def hash_name(repo: Repository) -> str:
    """Return the hash algorithm of the repository's object ids: sha1 or sha256."""
    text = _read_text(os.path.join(repo.common_dir, "config")) or ""
    return _find_setting(text, "extensions", "objectformat") or "sha1"


def is_shallow(repo: Repository) -> bool:
    """Return whether the repository lacks a part of its history, so that facts derived from it may change."""
    return os.path.exists(os.path.join(repo.common_dir, "shallow"))


def count_index_entries(repo: Repository) -> int:
    """Return the number of entries in the index of this work tree, from its header (gitformat-index(5))."""
    try:
        with open(os.path.join(repo.git_dir, "index"), "rb") as file:
            return int.from_bytes(file.read(12)[8:])
    except OSError:
        return 0


def _open(worktree: str, git_dir: str) -> Repository | None:
    git_dir = os.path.realpath(git_dir)
    common_dir = _common_dir(git_dir)
    if common_dir == git_dir:
        return None if _is_bare(git_dir) else Repository(worktree, git_dir, git_dir, MAIN)
    return Repository(worktree, git_dir, common_dir, os.path.basename(git_dir))


def _common_dir(git_dir: str) -> str:
    pointer = os.path.join(git_dir, "commondir")
    return os.path.realpath(_read_pointer(pointer, "") if os.path.isfile(pointer) else git_dir)


def _read_pointer(file: str, prefix: str) -> str:
    text = _read_text(file) or ""
    if not text.startswith(prefix):
        return ""
    target = text.removeprefix(prefix).strip()
    return os.path.join(os.path.dirname(file), target) if target else ""


def _is_git_dir(folder: str) -> bool:
    if not folder or not os.path.lexists(os.path.join(folder, "HEAD")):
        return False
    if os.path.isfile(os.path.join(folder, "commondir")):
        return True
    return all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs"))


def _is_bare(git_dir: str) -> bool:
    # A `.git` folder may be bare: that is usual for people who only use linked work trees.
    for name in ("config.worktree", "config"):
        value = _find_setting(_read_text(os.path.join(git_dir, name)) or "", "core", "bare")
        if value is not None:
            return value in ("", "true", "yes", "on", "1")
    return False


def _find_setting(text: str, section: str, key: str) -> str | None:
    """Return a setting's last value in a configuration file, in lower case; only for settings that git writes itself."""
    current, found = "", None
    for line in text.lower().splitlines():
        rest = line.strip()
        if rest.startswith("["):
            current, _, rest = rest[1:].partition("]")
        name, _, value = rest.partition("=")
        if current == section and name.strip() == key:
            found = value.strip()
    return found


def _resolve(repo: Repository, name: str) -> str | None:
    for _ in range(SYMREF_DEPTH):
        text = _read_text(os.path.join(repo.common_dir, name))
        if text is None:
            return _read_packed_ref(repo, name)
        if not text.startswith("ref:"):
            return _check_oid(repo, name, text)
        name = text.removeprefix("ref:").strip()
    raise _damage_error(repo, f"{name} points in a circle")


def _read_packed_ref(repo: Repository, name: str) -> str | None:
    try:
        with open(os.path.join(repo.common_dir, "packed-refs"), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    end = data.find(b" " + os.fsencode(name) + b"\n")
    if end < 0:
        return None
    return _check_oid(repo, name, data[data.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace"))


def _check_oid(repo: Repository, name: str, text: str) -> str:
    if len(text) not in (40, 64) or not set(text) <= set("0123456789abcdef"):
        raise _damage_error(repo, f"{name} does not hold a commit id")  # an empty file, after a power cut
    return text


def _read_head_with_git(repo: Repository) -> Head:
    from engram.adapters.git.run.process import run

    name = run(repo.worktree, "symbolic-ref", "--quiet", "HEAD").stdout.decode().strip()
    return Head(_resolve_with_git(repo, "HEAD"), name.removeprefix(BRANCHES) or None)


def _resolve_with_git(repo: Repository, name: str) -> str | None:
    from engram.adapters.git.run.process import run

    words = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return run(repo.worktree, *words).stdout.decode().strip() or None


def _read_text(file: str) -> str | None:
    """Return the text of a regular file; None if there is none. Raises GitError."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return None
        with open(file, "rb") as opened:
            return os.fsdecode(opened.read()).strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
        return None
    except OSError as error:
        raise GitError(
            f"{file} cannot be read: {error.strerror}.", "Check who owns the repository."
        ) from error


def _damage_error(repo: Repository, what: str) -> GitError:
    return GitError(
        f"The git repository at {repo.worktree} is damaged: {what}.",
        "Run `git fsck` there; `git reflog` shows the last commits.",
    )
