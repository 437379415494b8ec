"""Sign Engram's commits if the person's own git configuration says so (`commit.gpgsign`), without any prompt.

Git itself signs, with the person's program and key (`gpg.format`, `user.signingKey`). A key with a passphrase has to be
in an agent; if signing fails, the commits stay unsigned, and `read_failure_reason` says why.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.git.read import signatures
from engram.adapters.git.run import configuration
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.stream import Draft

SIGNING_SECONDS = 15.0  # for one signature
_TRUE = ("true", "yes", "on", "1")
_FORMATS = ("openpgp", "x509", "ssh")


def is_wanted(repo: Repository) -> bool:
    """Return whether the person's git signs commits; False if the configuration cannot be read."""
    try:
        return configuration.value(repo, "commit.gpgsign").lower() in _TRUE
    except GitError:
        return False


def sign_commits(
    repo: Repository, drafts: Sequence[Draft], parent: str | None, tip: str, committer: str, state_folder: str
) -> str:
    """Sign the commits from `parent` to `tip`, made of `drafts`, and return the last one; `tip` if that fails."""
    try:
        options = _signing_options(repo, state_folder)
        exclude = ("--not", parent) if parent else ()
        query = ("rev-list", "--topo-order", "--reverse", "--format=%T", tip, *exclude)
        listed = run(repo, *query).stdout.decode().splitlines()
        trees = [line for line in listed if not line.startswith("commit ")]
        last = parent
        for draft, tree in zip(drafts, trees, strict=True):
            last = _commit_signed(repo, options, draft, tree, last, committer)
    except GitError as error:
        _record(state_folder, _reason(error))
        return tip
    _record(state_folder, "")
    return last or tip


def read_failure_reason(state_folder: str) -> str:
    """Return why the last commits could not be signed; "" if they were, or did not have to be."""
    try:
        with open(_reason_file(state_folder), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _commit_signed(
    repo: Repository, options: Sequence[str], draft: Draft, tree: str, parent: str | None, committer: str
) -> str:
    identity: dict[str, str] = {}
    for role, person in (("AUTHOR", draft.author), ("COMMITTER", committer)):
        name, _, email = person.partition(" <")
        identity |= {
            f"GIT_{role}_NAME": name,
            f"GIT_{role}_EMAIL": email.rstrip(">"),
            f"GIT_{role}_DATE": f"@{draft.moment} +0000",
        }
    command = (*DURABLE, *options, "commit-tree", "-S", *(("-p", parent) if parent else ()), tree)
    message = draft.message.encode("utf-8", "replace")
    # In git's own folder, so that a relative path of a program does not lead into the work tree, which others can change.
    return (
        run(repo.git_dir, *command, stdin=message, env=identity, deadline=SIGNING_SECONDS)
        .stdout.decode()
        .strip()
    )


def _signing_options(repo: Repository, state_folder: str) -> list[str]:
    """Return the options for git besides the person's configuration. Raises GitError if there is no usable program."""
    kind = configuration.value(repo, "gpg.format") or "openpgp"
    program = signatures.program(repo, kind) if kind in _FORMATS else None
    if program is None:
        raise GitError(f"there is no program for gpg.format = {kind}", "Check gpg.format.")
    encoding = ("-c", "i18n.commitEncoding=UTF-8")
    if kind == "ssh":  # it asks nothing without a terminal, and the runner gives it none
        return [*encoding]
    return [*encoding, "-c", f"gpg.{kind}.program={_write_batch_wrapper(program, state_folder)}"]


def _write_batch_wrapper(program: str, state_folder: str) -> str:
    """Write a script that runs gpg or gpgsm so that it fails instead of prompting, and return its path. Raises GitError."""
    from shlex import quote

    path = os.path.join(state_folder, "sign-without-asking")
    text = f'#!/bin/sh\nexec {quote(program)} --batch --no-tty --pinentry-mode error "$@"\n'
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return path
    except OSError:
        pass
    try:
        with open(f"{path}.new", "w", encoding="utf-8", opener=_executable) as file:
            file.write(text)
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise GitError(f"{path} cannot be written: {error.strerror}", "Check its permissions.") from error
    return path


def _executable(path: str, flags: int) -> int:
    return os.open(path, flags, 0o700)


def _reason(error: GitError) -> str:
    lines = [line.strip() for line in (error.stderr or error.message).splitlines() if line.strip()]
    messages = [line for line in lines if not line.startswith(("[GNUPG:]", "error: gpg failed"))]
    return (messages or lines or [error.message])[0][:200]


def _record(state_folder: str, reason: str) -> None:
    with contextlib.suppress(OSError):
        if not reason:
            os.unlink(_reason_file(state_folder))
            return
        with open(_reason_file(state_folder), "w", encoding="utf-8") as file:
            file.write(reason)


def _reason_file(state_folder: str) -> str:
    return os.path.join(state_folder, "unsigned")
