"""What git's complaints mean: a short kind for programs, a sentence and a next step for people.

The words are those of git with LC_ALL=C; the order matters, the first marker found decides.
"""

from __future__ import annotations

import re

from engram.domain.errors import GitError

BUSY, DUBIOUS, NOT_A_REPOSITORY, NO_SPACE, DENIED, DAMAGED, MOVED, TIMEOUT, FAILED = (
    "busy",
    "dubious-ownership",
    "not-a-repository",
    "no-space",
    "denied",
    "damaged",
    "moved",
    "timeout",
    "failed",
)
MARKERS = (
    (DUBIOUS, ("detected dubious ownership", "unsafe repository")),
    (TIMEOUT, ("stopped at its time limit",)),
    (NO_SPACE, ("no space left on device", "disk quota exceeded")),
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
    BUSY: ("Another git process is using the repository.", "Wait for it to end, then try again."),
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
    DAMAGED: ("The git repository at {folder} is damaged.", "Run `git fsck` there and repair what it names."),
    MOVED: ("The branch moved while Engram was committing.", "Try again: nothing was lost."),
}


def kind(stderr: str) -> str:
    """The kind of failure that git's error text tells of; "failed" when it is none of the known ones."""
    text = stderr.lower()
    for name, words in MARKERS:
        if any(word in text for word in words):
            return name
    return FAILED


def failure(folder: str, args: tuple[str, ...], code: int, stderr: str) -> GitError:
    """The error for `git args` that ended with `code` in `folder`."""
    stderr = without_credentials(stderr)
    name = kind(stderr)
    message, hint = ADVICE.get(
        name,
        (
            f"git {subcommand(args)} failed: {_telling_line(stderr) or f'exit code {code}'}.",
            "Run `engram doctor`.",
        ),
    )
    return GitError(
        message.replace("{folder}", folder),
        hint.replace("{folder}", folder),
        command=without_credentials(" ".join(args)),
        stderr=stderr,
    )


def subcommand(args: tuple[str, ...]) -> str:
    """The git command among the arguments: the first that is not a `-c setting`."""
    while args[0] == "-c":
        args = args[2:]
    return args[0]


def without_credentials(text: str) -> str:
    """The text with `user:password@` taken out of every URL."""
    return re.sub(r"://[^/@\s]+@", "://***@", text)


def _telling_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("fatal: ", "error: ")):
            return line.partition(": ")[2].rstrip(".")
    return lines[-1].rstrip(".") if lines else ""
