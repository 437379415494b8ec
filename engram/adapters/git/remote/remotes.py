"""The remotes of a repository, and the commands that talk to them: fetch, push, list, clone.

Each has a deadline and never prompts; its failure is a `RemoteError` with a kind and a next step. `report` receives the
progress of a transfer and is called ten times a second: an exception that it raises ends the command. With `quiet`, git
reports no progress.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.git.run import failures, layout
from engram.adapters.git.run.configuration import settings, value
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import lore_branch
from engram.domain.errors import RemoteError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.adapters.git.run.layout import Repository

    Report = Callable[[str], None]  # receives for example `receiving objects 45 %`

DEADLINE = 120.0  # seconds
DEFAULT = "origin"
PROPOSALS = "engram/proposals/"  # prefix of the branches of proposals
# --unshallow and --deepen would fetch the history of all branches.
WHOLE_HISTORY = "--shallow-since=1970-01-02"
# Git completes a received thin pack with objects that it has: compressing them again takes a fifth of a fetch, and saves
# only a few megabytes until git's next garbage collection.
NO_COMPRESSION = ("-c", "core.looseCompression=0")
PUSH = ("push", "--quiet", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
_PUSHED = "update by push"  # git's reason in the reflog of a remote-tracking branch


class Remote(NamedTuple):
    """A remote; `url` is for display, without credentials."""

    name: str
    url: str


class Counterpart(NamedTuple):
    """The remote branch with which a local branch is synced."""

    remote: str
    branch: str

    @property
    def ref(self) -> str:
        """The remote-tracking ref."""
        return f"refs/remotes/{self.remote}/{self.branch}"


def remotes(repo: Repository) -> tuple[Remote, ...]:
    """Return the remotes in the order of the configuration."""
    found: dict[str, str] = {}
    for key, url, _ in settings(repo):
        if url and key.startswith("remote.") and key.endswith(".url"):
            found.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    return tuple(Remote(name, failures.without_credentials(url)) for name, url in found.items())


def push_addresses(repo: Repository, name: str) -> tuple[str, ...]:
    """Return all addresses to which git pushes for a remote, with credentials."""
    known = settings(repo)
    for kind in ("pushurl", "url"):
        listed = tuple(value for key, value, _ in known if key == f"remote.{name}.{kind}")
        if listed and all(listed) and not any(key.startswith("url.") for key, _, _ in known):
            return listed
    # Git also handles address rewriting, empty values that reset earlier ones, and remotes in files of their own.
    result = run(repo, "remote", "get-url", "--push", "--all", "--", name, check=False)
    return tuple(os.fsdecode(result.stdout).splitlines()) if not result.code else ()


def add(repo: Repository, name: str, url: str) -> None:
    """Add a remote. Raises UsageError for a name that exists or is invalid, or an unsafe address."""
    check_url(url)
    if any(remote.name == name for remote in remotes(repo)):
        raise UsageError(
            f"There is a remote '{name}' already.",
            f"To replace it, remove it first: engram remote remove {name}",
        )
    from engram.adapters.git.run.gitpython import GitCommandError, open_repository

    with open_repository(repo.worktree) as opened:
        try:
            opened.create_remote(name, url)
        except GitCommandError:
            message = f"'{name}' cannot be the name of a remote."
            raise UsageError(message, "Use letters and digits, like origin.") from None


def remove(repo: Repository, name: str) -> None:
    """Remove a remote and its remote-tracking branches. Raises UsageError if there is no such remote."""
    known = remotes(repo)
    if all(remote.name != name for remote in known):
        names = ", ".join(remote.name for remote in known) or "none"
        raise UsageError(f"There is no remote '{name}'.", f"Remotes here: {names}.")
    from engram.adapters.git.run.gitpython import GitCommandError, failure, open_repository

    with open_repository(repo.worktree) as opened:
        try:
            opened.delete_remote(opened.remote(name))
        except GitCommandError as error:
            raise failure(repo.worktree, error) from None


def check_url(url: str) -> str:
    """Return `url` if it is safe for git. Raises UsageError for others: `ext::` and the like run programs."""
    if not url.strip() or url.startswith("-") or "::" in url.partition("/")[0] or "\n" in url:
        raise UsageError(
            f"'{failures.without_credentials(url)}' is not the address of a repository.",
            "Use https://…, ssh://…, user@host:path or the path of a folder.",
        )
    return url


def counterpart(repo: Repository, branch: str, named: str = "") -> Counterpart:
    """Return the counterpart of `branch`: the configured upstream, else the same name at origin or the only remote.

    `named` selects a remote. Raises RemoteError if there is none.
    """
    known = [remote.name for remote in remotes(repo)]
    if named and named not in known:
        raise RemoteError(
            failures.NOT_FOUND, f"There is no remote '{named}'.", "`engram remote list` lists the remotes."
        )
    upstream = value(repo, f"branch.{branch}.remote"), value(repo, f"branch.{branch}.merge")
    remote = named or (upstream[0] if upstream[0] in known else "") or (DEFAULT if DEFAULT in known else "")
    if not remote and len(known) == 1:
        remote = known[0]
    if not remote:
        message = "There are several remotes." if known else "This store has no remote yet."
        add = "git" if branch == lore_branch.BRANCH else "engram"
        hint = f"Name one: engram sync {known[0]}" if known else f"{add} remote add origin URL"
        raise RemoteError("no-remote", message, hint)
    merge = upstream[1].removeprefix(layout.BRANCHES) if upstream[0] == remote else ""
    if branch == lore_branch.BRANCH:
        merge = branch  # regardless of the configuration: other branches are not for lore
    return Counterpart(remote, merge or branch)


def remember(repo: Repository, branch: str, other: Counterpart) -> None:
    """Record the counterpart of `branch` in git's configuration, as `git push -u` does."""
    wanted = {
        f"branch.{branch}.remote": other.remote,
        f"branch.{branch}.merge": layout.BRANCHES + other.branch,
    }
    for key, text in wanted.items():
        if value(repo, key) != text:
            run(repo, "config", key, text)


def tracked_commit(repo: Repository, other: Counterpart) -> str | None:
    """Return the commit of the remote branch as of the last fetch; None if unknown."""
    return layout.read_ref(repo, other.ref)


def fetched_since(repo: Repository, other: Counterpart, since: str, until: str) -> list[tuple[str, str]]:
    """Return the steps (old, new) by which fetches moved the remote-tracking branch from `since` to `until`.

    Pushes from here are left out. If the reflog does not lead to `until`, everything is one step.
    """
    steps, at = list[tuple[str, str]](), since
    try:
        with open(
            os.path.join(repo.common_dir, "logs", other.ref), encoding="utf-8", errors="replace"
        ) as log:
            for line in log:
                facts, _, reason = line.rstrip("\n").partition("\t")
                old, new = facts.split(" ")[:2]
                if old == at:
                    steps += [] if reason == _PUSHED else [(old, new)]
                    at = new
    except (OSError, ValueError):
        at = ""
    return steps if at == until else [(since, until)]


def fetch(
    repo: Repository,
    other: Counterpart,
    *,
    deadline: float = DEADLINE,
    report: Report | None = None,
    quiet: bool = False,
    apart: bool = False,
    also: str = "",
) -> str | None:
    """Fetch the remote branch and return its commit; None if the remote has no such branch. Raises RemoteError.

    With `also`, fetch that branch, if the remote has it (see `tracked_commit`), and proposals, too.

    A shallow clone gets the rest of its history, without which the common ancestors are unknown. With `apart`, for a branch
    that is separate from the repository's code, only that branch gets it.
    """
    refspec = f"+{layout.BRANCHES}{other.branch}:{other.ref}"
    # A partial clone would fetch each missing blob over a separate connection.
    filters = ("--no-filter",) if apart else ()
    words = (*NO_COMPRESSION, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
             "--no-recurse-submodules", *filters, *_history_options(repo, other, apart), other.remote, refspec,
             *([_optional_refspec(other.remote, also), _proposals_refspec(other.remote)] if also else []))  # fmt: skip
    try:
        _talk(repo, other.remote, words, deadline, report, quiet)
    except RemoteError as error:
        if error.kind != failures.NO_BRANCH:
            raise
        run(repo, "update-ref", "-d", other.ref)
        return None
    return tracked_commit(repo, other)


def _optional_refspec(remote: str, branch: str) -> str:
    """Return the refspec of a branch that need not exist: git ignores a pattern that matches nothing."""
    return f"+{layout.BRANCHES}{branch[:-1]}*:refs/remotes/{remote}/{branch[:-1]}*"


def _proposals_refspec(remote: str) -> str:
    return f"+{layout.BRANCHES}{PROPOSALS}*:refs/remotes/{remote}/{PROPOSALS}*"


def fetch_proposals(repo: Repository, remote: str, *, deadline: float = DEADLINE) -> None:
    """Fetch the remote's proposals and drop those that it no longer has. Raises RemoteError."""
    words = ("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
             "--no-recurse-submodules", "--no-filter", remote, _proposals_refspec(remote))  # fmt: skip
    _talk(repo, remote, words, deadline, None)


def may_have_proposals(repo: Repository) -> bool:
    """Return whether a proposal may have been fetched, without running git; True if refs are in reftables."""
    top = os.path.join(repo.common_dir, "refs", "remotes")
    with contextlib.suppress(OSError):
        for remote in os.listdir(top):
            found = os.path.join(top, remote, *PROPOSALS.rstrip("/").split("/"))
            if os.path.isdir(found) and os.listdir(found):
                return True
    with contextlib.suppress(OSError), open(os.path.join(repo.common_dir, "packed-refs"), "rb") as file:
        return f"/{PROPOSALS}".encode() in file.read()
    return os.path.isdir(os.path.join(repo.common_dir, "reftable"))


def proposals(repo: Repository, remote: str) -> dict[str, str]:
    """Return the commits of the proposals as of the last fetch, by name."""
    top = f"refs/remotes/{remote}/{PROPOSALS}"
    listed = os.fsdecode(run(repo, "for-each-ref", "--format=%(objectname) %(refname)", top).stdout)
    pairs = (line.split(" ", 1) for line in listed.splitlines())
    return {ref.removeprefix(top): oid for oid, ref in pairs}


def delete(repo: Repository, other: Counterpart, commit: str, *, deadline: float = DEADLINE) -> None:
    """Delete the remote branch if it is still at `commit`. Raises RemoteError."""
    branch = layout.BRANCHES + other.branch
    lease = f"--force-with-lease={branch}:{commit}"
    _talk(repo, other.remote, (*PUSH, lease, other.remote, f":{branch}"), deadline)
    run(repo, "update-ref", "-d", other.ref, check=False)


def _history_options(repo: Repository, other: Counterpart, apart: bool) -> tuple[str, ...]:
    """Return the options to fetch the history that a shallow clone lacks; the code of a repository stays shallow."""
    try:
        with open(os.path.join(repo.common_dir, "shallow"), encoding="ascii") as file:
            boundary = set(file.read().split())
    except FileNotFoundError:
        return ()
    if not apart and other.branch != lore_branch.BRANCH:
        return ("--unshallow",)
    own = layout.BRANCHES + other.branch
    listed = run(repo, "rev-list", "--ignore-missing", own, other.ref, "--").stdout
    return (WHOLE_HISTORY,) if boundary & set(listed.decode().split()) else ()


def default_branch(repo: Repository, remote: str, *, but: str = "", deadline: float = DEADLINE) -> str | None:
    """Return the remote's current branch, or its only one, except `but`; None if there is none. Raises RemoteError."""
    output = _talk(repo, remote, ("ls-remote", "--symref", remote, "HEAD", "refs/heads/*"), deadline)
    names: list[str] = []
    head = ""
    for line in output.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            head = value.removeprefix(f"ref: {layout.BRANCHES}")
        elif name.startswith(layout.BRANCHES):
            names.append(name.removeprefix(layout.BRANCHES))
    names = [name for name in names if name != but and not name.startswith(PROPOSALS)]
    return head if head in names else (names[0] if len(names) == 1 else None)


def push(
    repo: Repository,
    other: Counterpart,
    commit: str,
    *,
    deadline: float = DEADLINE,
    report: Report | None = None,
    quiet: bool = False,
) -> None:
    """Push `commit` to the remote branch, never with force. Raises RemoteError (`rejected` if another push was first)."""
    words = (*PUSH, other.remote, f"{commit}:{layout.BRANCHES}{other.branch}")
    _talk(repo, other.remote, words, deadline, report, quiet)


def clone(url: str, folder: str, *, deadline: float = DEADLINE, report: Report | None = None) -> None:
    """Clone into `folder` (absolute; missing or empty) without checking out files. Raises RemoteError."""
    check_url(url)
    # Without --no-local the objects of a repository on this machine are copied without checks.
    words = ("clone", "--quiet", "--no-checkout", "--no-tags", "--no-recurse-submodules",
             "--no-local", f"--origin={DEFAULT}", "--template=", "--", url, folder)  # fmt: skip
    _talk(os.path.dirname(folder), failures.without_credentials(url), words, deadline, report)


def take_branch(repo: Repository, *, but: str) -> bool:
    """Set HEAD of a clone whose remote names a missing branch (a bare repository made for `master`), or `but`.

    Takes `main`, else the first of the other branches; returns False if there is none.
    """
    words = ("for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", f"refs/remotes/{DEFAULT}")
    lines = os.fsdecode(run(repo, *words).stdout).splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("HEAD "))
    found = {name: oid for name, oid in found.items() if name != but and not name.startswith(PROPOSALS)}
    if not found:
        return False
    branch = "main" if "main" in found else min(found)
    run(repo, "update-ref", f"refs/heads/{branch}", found[branch])
    run(repo, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    run(repo, "config", f"branch.{branch}.remote", DEFAULT)
    run(repo, "config", f"branch.{branch}.merge", f"refs/heads/{branch}")
    return True


def _talk(
    where: Repository | str,
    remote: str,
    words: Sequence[str],
    deadline: float,
    report: Report | None = None,
    quiet: bool = False,
) -> str:
    from engram.adapters.git.remote.transfer import talk

    if report is not None and not quiet:
        words = ["--progress" if word == "--quiet" else word for word in words]
    folder = where if isinstance(where, str) else lore_branch.top_of(where)
    return talk(folder, remote, words, deadline, report)
