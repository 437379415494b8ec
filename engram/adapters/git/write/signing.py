"""Sign Engram's commits if the person's own git configuration says so (`commit.gpgsign`), without any prompt.

Git itself signs, with the person's program and key (`gpg.format`, `user.signingKey`). A key that needs a passphrase
has to be in an agent; where that fails the commits stay unsigned, and `trouble` says why.
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

SECONDS = 15.0  # for one signature
_TRUE = ("true", "yes", "on", "1")
_FORMATS = ("openpgp", "x509", "ssh")


def is_wanted(repo: Repository) -> bool:
    """Return whether the person wants commits to be signed; not where git cannot be asked."""
    try:
        return configuration.value(repo, "commit.gpgsign").lower() in _TRUE
    except GitError:
        return False


def sign_commits(
    repo: Repository, drafts: Sequence[Draft], parent: str | None, tip: str, committer: str, state_folder: str
) -> str:
    """Return the last of the commits that were made of `drafts` upon `parent` up to `tip`, all signed; `tip` if that fails."""
    try:
        words = _settings(repo, state_folder)
        without = ("--not", parent) if parent else ()
        asked = ("rev-list", "--topo-order", "--reverse", "--format=%T", tip, *without)
        listed = run(repo, *asked).stdout.decode().splitlines()
        trees = [line for line in listed if not line.startswith("commit ")]
        last = parent
        for draft, tree in zip(drafts, trees, strict=True):
            last = _commit(repo, words, draft, tree, last, committer)
    except GitError as error:
        _note(state_folder, _reason(error))
        return tip
    _note(state_folder, "")
    return last or tip


def trouble(state_folder: str) -> str:
    """Return why the last commits could not be signed; "" where they could or were not to be."""
    try:
        with open(_file(state_folder), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _commit(
    repo: Repository, settings: Sequence[str], draft: Draft, tree: str, parent: str | None, committer: str
) -> str:
    who: dict[str, str] = {}
    for role, person in (("AUTHOR", draft.author), ("COMMITTER", committer)):
        name, _, email = person.partition(" <")
        who |= {
            f"GIT_{role}_NAME": name,
            f"GIT_{role}_EMAIL": email.rstrip(">"),
            f"GIT_{role}_DATE": f"@{draft.moment} +0000",
        }
    words = (*DURABLE, *settings, "commit-tree", "-S", *(("-p", parent) if parent else ()), tree)
    message = draft.message.encode("utf-8", "replace")
    # In git's own folder: a program given by a relative path is not one of the work tree, which others fill.
    return run(repo.git_dir, *words, stdin=message, env=who, deadline=SECONDS).stdout.decode().strip()


def _settings(repo: Repository, state_folder: str) -> list[str]:
    """Return the options for git besides the person's configuration. Raises GitError where there is no usable program."""
    kind = configuration.value(repo, "gpg.format") or "openpgp"
    program = signatures.program(repo, kind) if kind in _FORMATS else None
    if program is None:
        raise GitError(f"there is no program for signatures of the kind {kind}", "Check gpg.format.")
    encoding = ("-c", "i18n.commitEncoding=UTF-8")
    if kind == "ssh":  # it asks nothing without a terminal, and the runner gives it none
        return [*encoding]
    return [*encoding, "-c", f"gpg.{kind}.program={_never_asking(program, state_folder)}"]


def _never_asking(program: str, state_folder: str) -> str:
    """Return a script that runs gpg or gpgsm so that it fails where it would ask for a passphrase."""
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


def _note(state_folder: str, why: str) -> None:
    with contextlib.suppress(OSError):
        if not why:
            os.unlink(_file(state_folder))
            return
        with open(_file(state_folder), "w", encoding="utf-8") as file:
            file.write(why)


def _file(state_folder: str) -> str:
    return os.path.join(state_folder, "unsigned")
