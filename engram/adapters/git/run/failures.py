"""Classify git's error messages: a short kind for programs, a sentence and a next step for people.

The words are those of git with LC_ALL=C. The first marker found decides, so their order matters.
"""

from __future__ import annotations

import re

from engram.domain.errors import EngramError, GitError, RemoteError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


BUSY = "busy"
DUBIOUS = "dubious-ownership"
NOT_A_REPOSITORY = "not-a-repository"
NO_SPACE = "no-space"
DENIED = "denied"
DAMAGED = "damaged"
MOVED = "moved"
TIMEOUT = "timeout"
FAILED = "failed"
MARKERS = (
    (DUBIOUS, ("detected dubious ownership", "unsafe repository")),
    (TIMEOUT, ("stopped at its time limit",)),
    (NO_SPACE, ("no space left on device", "out of diskspace", "disk quota exceeded")),
    (MOVED, ("not updating refs/", "but expected", "reference already exists")),
    (BUSY, ("file exists", "another git process", "unable to lock")),
    (DENIED, ("permission denied", "insufficient permission", "read-only file system", "not permitted")),
    (NOT_A_REPOSITORY, ("not a git repository", "must be run in a work tree")),
    (DAMAGED, ("corrupt", "bad object", "missing blob", "missing tree", "unable to read tree")),
    (
        DAMAGED,
        ("bad index file", "index file smaller", "bad signature", "broken ref", "invalid sha1 pointer"),
    ),
)
ADVICE = {
    BUSY: (
        "Another git process is using the repository.",
        "Wait for it to end, then try again.",
    ),
    DUBIOUS: (
        "Git refuses this repository because another user owns it.",
        "If you trust it: git config --global --add safe.directory '{folder}'",
    ),
    NOT_A_REPOSITORY: (
        "{folder} is not a git repository.",
        "Run `engram init`, or go to a repository first.",
    ),
    NO_SPACE: (
        "The disk is full; nothing was committed.",
        "Free some space, then try again: nothing is lost.",
    ),
    DENIED: ("Git may not read or write {folder}.", "Check who owns the files under it and its .git folder."),
    DAMAGED: (
        "The git repository at {folder} is damaged.",
        "Run `git fsck` there and repair what it reports.",
    ),
    MOVED: ("The branch moved while Engram was committing.", "Try again: nothing was lost."),
}

MAX_REASON = 500  # characters of a server's message

# For commands that talk to a remote. Git prefixes the server's messages with "remote: ".
REJECTED = "rejected"
DECLINED = "declined"
AUTH = "auth"
FORBIDDEN = "forbidden"
NOT_FOUND = "not-found"
OFFLINE = "offline"
NO_BRANCH = "no-branch"
UNSOUND = "unsound"
PROTOCOL = "protocol"
REMOTE_MARKERS = (
    (NO_BRANCH, ("couldn't find remote ref",)),
    (PROTOCOL, ("' not allowed",)),
    # Somebody else pushed, before our push began or while the server received it.
    (REJECTED, ("[rejected]", "(fetch first)", "(non-fast-forward)", "(failed to update ref)")),
    (REJECTED, ("incorrect old value provided", "remote: error: cannot lock ref", "(cannot lock ref")),
    (FORBIDDEN, ("error: 403", "write access to repository not granted", "you are not allowed to")),
    (DECLINED, ("[remote rejected]", "hook declined", "protected branch")),
    (
        AUTH,
        (
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "error: 401",
            "permission denied (publickey",
            "host key verification failed",
            "unable to get password from user",
        ),
    ),
    (UNSOUND, ("fsck error", "error in object", "did not send all necessary objects", "remote did not send")),
    (UNSOUND, ("index-pack failed", "unpack-objects failed", "inflate", "bad object", "missing blob")),
    (
        OFFLINE,
        (
            "could not resolve host",
            "name or service not known",
            "temporary failure in name resolution",
            "connection refused",
            "failed to connect",
            "couldn't connect to server",
            "network is unreachable",
            "no route to host",
            "connection timed out",
            "connection reset",
            "operation too slow",
            "remote end hung up",
            "unexpected disconnect",
            "early eof",
            "empty reply from server",
            "error: 500",
            "error: 502",
            "error: 503",
            "error: 504",
        ),
    ),
    (
        NOT_FOUND,
        (
            "does not appear to be a git repository",
            "repository not found",
            "' not found",
            "error: 404",
            "no such remote",
            "does not exist",
            "bad line length character",  # the server is not git
            "is this a git repository",
            "not a git repository",
        ),
    ),
    (FORBIDDEN, ("could not read from remote repository",)),
    (TIMEOUT, ("stopped at its time limit",)),
)
_CONNECTION_ENDED = {
    "fatal: Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
}
REMOTE_ADVICE = {
    REJECTED: (
        "{remote} has commits that are not here yet.",
        "`engram sync` merges them and pushes: nothing is lost.",
    ),
    DECLINED: (
        "{remote} declined the push: {reason}.",
        "If that branch is protected, propose your entries: `engram propose`. Else ask its administrator: nothing is lost.",
    ),
    AUTH: (
        "{remote} requires authentication, and Engram never asks for passwords.",
        "Set up an SSH key or a git credential helper; `git ls-remote {remote}` shows whether it works.",
    ),
    FORBIDDEN: (
        "{remote} denies your account this access.",
        "Ask its owner for access, or check its address: `engram remote list`.",
    ),
    NOT_FOUND: (
        "No repository was found at {remote}.",
        "Check the address; `engram remote list` shows those of the remotes.",
    ),
    OFFLINE: (
        "{remote} cannot be reached now.",
        "Nothing is lost: go on working, and run `engram sync` when you are online.",
    ),
    TIMEOUT: (
        "{remote} did not answer within the time limit.",
        "Try again later, or allow more: `engram sync --timeout SECONDS`.",
    ),
    PROTOCOL: (
        "The address of {remote} has a protocol that is not allowed.",
        "Use https://…, ssh://… or a folder (`engram remote list`); your own GIT_ALLOW_PROTOCOL may allow fewer.",
    ),
    NO_BRANCH: ("{remote} has no such branch.", "`git ls-remote {remote}` lists those it has."),
    UNSOUND: (
        "The data of {remote} is damaged or forged and was not taken: {reason}.",
        "Run `git fsck` in that repository and repair what it reports; nothing was changed here.",
    ),
}


def kind(stderr: str, markers: Sequence[tuple[str, tuple[str, ...]]] = MARKERS) -> str:
    """Return the kind of failure that git's error text shows; "failed" if no marker is found."""
    text = stderr.lower()
    for name, words in markers:
        if any(word in text for word in words):
            return name
    return FAILED


def is_moved(folder: str, args: tuple[str, ...], code: int, stderr: str) -> bool:
    """Return whether `git args` moved a ref; False if the ref had moved or is locked. Raises GitError for other failures."""
    if code and kind(stderr) not in (MOVED, BUSY):
        raise failure(folder, args, code, stderr)
    return code == 0


def damage(folder: str, what: str, stderr: str) -> GitError:
    """Return the error for a damaged repository; `what` is a clause that says what is wrong, `stderr` has words of MARKERS."""
    hint = "Run `git fsck` there and repair what it reports."
    return GitError(f"The git repository at {folder} is damaged: {what}.", hint, stderr=stderr)


def failure(folder: str, args: tuple[str, ...], code: int, stderr: str) -> GitError:
    """Return the error for `git args`, which ended with `code` in `folder`."""
    stderr = without_credentials(stderr)
    name = kind(stderr)
    message, hint = ADVICE.get(
        name,
        (
            f"git {subcommand(args)} failed: {_main_line(stderr) or f'exit code {code}'}.",
            "Run `engram doctor`.",
        ),
    )
    return GitError(
        message.replace("{folder}", folder),
        hint.replace("{folder}", folder),
        command=without_credentials(" ".join(args)),
        stderr=stderr,
    )


def remote_failure(folder: str, remote: str, args: tuple[str, ...], code: int, text: str) -> EngramError:
    """Return the error for a command that talked to `remote`; `text` is git's output.

    A problem of this machine (a full disk, a lock) is a `GitError`, anything else a `RemoteError`.
    """
    text = without_credentials(text)
    if kind(text) in (NO_SPACE, BUSY, DUBIOUS):
        return failure(folder, args, code, text)
    name = OFFLINE if _is_silent(text) else kind(text, REMOTE_MARKERS)
    reason = _find_reason(text)
    default = (f"git {subcommand(args)} failed with {{remote}}: {{reason}}.", "Run `engram doctor`.")
    message, hint = REMOTE_ADVICE.get(name, default)
    message, hint = (part.replace("{reason}", reason).replace("{remote}", remote) for part in (message, hint))
    return RemoteError(name, message, hint, stderr=text)


def _is_silent(text: str) -> bool:
    """Return whether the connection ended without a reason from the server, so that git printed only its own message."""
    return {line.strip() for line in text.splitlines()} - {""} == _CONNECTION_ENDED


def _find_reason(text: str) -> str:
    """Return the server's message, else the most informative line of git's own."""
    messages = [
        line.removeprefix("remote:").strip() for line in text.splitlines() if line.startswith("remote:")
    ]
    words = next((line for line in messages if line and not line.startswith("Resolving")), "")
    refused = re.search(r"\[remote rejected\].*\((.*)\)", text)
    return (words or (refused[1] if refused else "") or _main_line(text) or "no reason given")[
        :MAX_REASON
    ].rstrip(".")


def subcommand(args: tuple[str, ...]) -> str:
    """Return the git command in the arguments: the first one after all `-c setting`."""
    while args[0] == "-c":
        args = args[2:]
    return args[0]


def without_credentials(text: str) -> str:
    """Return the text with `user:password@` removed from every URL."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)


def _main_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("fatal: ", "error: ")):
            return line.partition(": ")[2].rstrip(".")
    return lines[-1].rstrip(".") if lines else ""
