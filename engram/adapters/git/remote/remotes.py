"""The remotes of a repository, and the commands that talk to them: fetch, push, list, clone.

Every one has a deadline and never asks anything; its failure is a `RemoteError` with a kind and a next step. `report`
hears how far a transfer is, and is called ten times a second: an exception that it raises ends the command. A `quiet` git
says nothing of its progress.
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
PROPOSALS = "engram/proposals/"  # what the branches of proposals begin with
# --unshallow and --deepen bring in the history of everything there is.
WHOLE_BRANCH = "--shallow-since=1970-01-02"
# Git puts what it has already beside what came in as differences from that: to compress it again takes a fifth of
# a fetch, for a few megabytes until git's next clean-up.
AS_THEY_ARE = ("-c", "core.looseCompression=0")
PUSH = ("push", "--quiet", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
_PUSHED = "update by push"  # git's reason for a move of a remote branch, in its log


class Remote(NamedTuple):
    """A remote by its name; `url` is shown to people, without credentials."""

    name: str
    url: str


class Counterpart(NamedTuple):
    """The branch of a remote that a branch here is synced with."""

    remote: str
    branch: str

    @property
    def ref(self) -> str:
        """Where its last known commit is kept here."""
        return f"refs/remotes/{self.remote}/{self.branch}"


def remotes(repo: Repository) -> tuple[Remote, ...]:
    """Return the remotes, in the order of the configuration."""
    found: dict[str, str] = {}
    for key, url, _ in settings(repo):
        if url and key.startswith("remote.") and key.endswith(".url"):
            found.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    return tuple(Remote(name, failures.without_credentials(url)) for name, url in found.items())


def push_addresses(repo: Repository, name: str) -> tuple[str, ...]:
    """Return where git pushes to for a remote, by its configuration: every address, credentials included."""
    known = settings(repo)
    for kind in ("pushurl", "url"):
        listed = tuple(value for key, value, _ in known if key == f"remote.{name}.{kind}")
        if listed and all(listed) and not any(key.startswith("url.") for key, _, _ in known):
            return listed
    # Git knows more: addresses that replace others, empty ones that take back those before, remotes in files of their own.
    found = run(repo, "remote", "get-url", "--push", "--all", "--", name, check=False)
    return tuple(os.fsdecode(found.stdout).splitlines()) if not found.code else ()


def add(repo: Repository, name: str, url: str) -> None:
    """Add a remote. Raises UsageError for a name that exists or is invalid, or an address of an unknown kind."""
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
    """Remove a remote and its tracking branches. Raises UsageError where there is none."""
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
    """Return `url` if it is safe for git. Raises UsageError: `ext::` and the like run programs."""
    if not url.strip() or url.startswith("-") or "::" in url.partition("/")[0] or "\n" in url:
        raise UsageError(
            f"'{failures.without_credentials(url)}' is not the address of a repository.",
            "Use https://…, ssh://…, user@host:path or the path of a folder.",
        )
    return url


def counterpart(repo: Repository, branch: str, named: str = "") -> Counterpart:
    """Return what `branch` is synced with: as git's configuration says, else the same name at origin or the only remote.

    `named` picks a remote. Raises RemoteError where there is none.
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
        merge = branch  # whatever is configured: the other branches of a code repository are people's own
    return Counterpart(remote, merge or branch)


def remember(repo: Repository, branch: str, other: Counterpart) -> None:
    """Record in git's configuration what `branch` is synced with, as `git push -u` does."""
    wanted = {
        f"branch.{branch}.remote": other.remote,
        f"branch.{branch}.merge": layout.BRANCHES + other.branch,
    }
    for key, text in wanted.items():
        if value(repo, key) != text:
            run(repo, "config", key, text)


def tracked_commit(repo: Repository, other: Counterpart) -> str | None:
    """Return the commit of the remote branch at the last fetch; None where it is not known."""
    return layout.read_ref(repo, other.ref)


def fetched_since(repo: Repository, other: Counterpart, since: str, until: str) -> list[tuple[str, str]]:
    """The steps from commit to commit in which fetching took the remote branch, as known here, from one to another.

    A push from here is no such step. Where git's log of the branch does not lead there, it is all one step.
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
    """Bring in the remote branch; its commit, or None where the remote has no such branch. Raises RemoteError.

    With it come the branch `also`, where the remote has that (`tracked_commit` tells), and then proposals.

    A clone without its whole history gets the rest: without it there is no telling what both sides had. Where the branch
    lies `apart` from the others of the repository, as that of lore does in a code repository, those stay as they are.
    """
    refspec = f"+{layout.BRANCHES}{other.branch}:{other.ref}"
    # A partial clone would get each missing blob by a connection of its own.
    whole = ("--no-filter",) if apart else ()
    words = (*AS_THEY_ARE, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
             "--no-recurse-submodules", *whole, *_whole_history(repo, other, apart), other.remote, refspec,
             *([_optional(other.remote, also), _proposals(other.remote)] if also else []))  # fmt: skip
    try:
        _talk(repo, other.remote, words, deadline, report, quiet)
    except RemoteError as error:
        if error.kind != failures.NO_BRANCH:
            raise
        run(repo, "update-ref", "-d", other.ref)
        return None
    return tracked_commit(repo, other)


def _optional(remote: str, branch: str) -> str:
    """Return what fetches a branch if there is one: git takes no offence at a pattern that matches nothing."""
    return f"+{layout.BRANCHES}{branch[:-1]}*:refs/remotes/{remote}/{branch[:-1]}*"


def _proposals(remote: str) -> str:
    return f"+{layout.BRANCHES}{PROPOSALS}*:refs/remotes/{remote}/{PROPOSALS}*"


def fetch_proposals(repo: Repository, remote: str, *, deadline: float = DEADLINE) -> None:
    """Bring in the proposals that the remote has, and forget those that it has no more. Raises RemoteError."""
    words = ("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
             "--no-recurse-submodules", "--no-filter", remote, _proposals(remote))  # fmt: skip
    _talk(repo, remote, words, deadline, None)


def may_have_proposals(repo: Repository) -> bool:
    """Return whether a proposal may have been fetched, without running git; true where its references are no files."""
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
    """Return the commits of the proposals as they were last fetched, by name."""
    top = f"refs/remotes/{remote}/{PROPOSALS}"
    listed = os.fsdecode(run(repo, "for-each-ref", "--format=%(objectname) %(refname)", top).stdout)
    pairs = (line.split(" ", 1) for line in listed.splitlines())
    return {ref.removeprefix(top): oid for oid, ref in pairs}


def delete(repo: Repository, other: Counterpart, commit: str, *, deadline: float = DEADLINE) -> None:
    """Delete the remote branch if it is at `commit` still. Raises RemoteError."""
    branch = layout.BRANCHES + other.branch
    lease = f"--force-with-lease={branch}:{commit}"
    _talk(repo, other.remote, (*PUSH, lease, other.remote, f":{branch}"), deadline)
    run(repo, "update-ref", "-d", other.ref, check=False)


def _whole_history(repo: Repository, other: Counterpart, apart: bool) -> tuple[str, ...]:
    """Return the options that make git fetch the history a shallow clone lacks; a code repository stays shallow."""
    try:
        with open(os.path.join(repo.common_dir, "shallow"), encoding="ascii") as file:
            cut = set(file.read().split())
    except FileNotFoundError:
        return ()
    if not apart and other.branch != lore_branch.BRANCH:
        return ("--unshallow",)
    own = layout.BRANCHES + other.branch
    listed = run(repo, "rev-list", "--ignore-missing", own, other.ref, "--").stdout
    return (WHOLE_BRANCH,) if cut & set(listed.decode().split()) else ()


def default_branch(repo: Repository, remote: str, *, but: str = "", deadline: float = DEADLINE) -> str | None:
    """Return the branch that the remote itself is on, or its only one; None where there is none. Raises RemoteError.

    The branch `but` does not count.
    """
    listing = _talk(repo, remote, ("ls-remote", "--symref", remote, "HEAD", "refs/heads/*"), deadline)
    names: list[str] = []
    head = ""
    for line in listing.splitlines():
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
    """Put `commit` on the remote branch, never by force. Raises RemoteError (kind `rejected`: somebody was faster)."""
    words = (*PUSH, other.remote, f"{commit}:{layout.BRANCHES}{other.branch}")
    _talk(repo, other.remote, words, deadline, report, quiet)


def clone(url: str, folder: str, *, deadline: float = DEADLINE, report: Report | None = None) -> None:
    """Clone into `folder` (absolute; missing or empty) without writing any of its files there. Raises RemoteError."""
    check_url(url)
    # Without --no-local the objects of a folder on this machine are copied as they are, and not checked.
    words = ("clone", "--quiet", "--no-checkout", "--no-tags", "--no-recurse-submodules",
             "--no-local", f"--origin={DEFAULT}", "--template=", "--", url, folder)  # fmt: skip
    _talk(os.path.dirname(folder), failures.without_credentials(url), words, deadline, report)


def take_branch(repo: Repository, *, but: str) -> bool:
    """After a clone whose remote names a branch that does not exist (a bare repository made for `master`), or `but`.

    Takes `main` or else the first of the other branches that there are; False where there is none.
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
