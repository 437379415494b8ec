"""Every error Engram expects: a type, a sentence that says what happened, a hint that says what to do.

Anything that is not an `EngramError` and reaches a front end is a bug.
"""

from __future__ import annotations

DONE = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
NEEDS_HUMAN = 4
REMOTE_FAILED = 5
INTERRUPTED = 130


class EngramError(Exception):
    """Something failed that a person or program can act on.

    `code` is a stable short name for programs, `exit_code` what the command line returns,
    `message` one sentence of what happened, `hint` what to do next (may be empty).
    """

    code = "failed"
    exit_code = FAILED

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.code

    def as_dict(self) -> dict[str, object]:
        """Return the error as the JSON that every front end reports."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class UsageError(EngramError):
    """The call itself is wrong: an option, a combination, a missing argument."""

    code = "usage"
    exit_code = USAGE


class ValidationError(EngramError):
    """A field of an entry breaks its rule; `field` names it."""

    code = "invalid"
    exit_code = USAGE

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.field = field

    def as_dict(self) -> dict[str, object]:
        """Return the error with the field it is about."""
        return {**super().as_dict(), "field": self.field}


class SecretFoundError(EngramError):
    """The text holds what looks like a secret, so nothing was written; `findings` say where."""

    code = "secret"
    exit_code = USAGE

    def __init__(self, message: str, hint: str, findings: tuple[dict[str, object], ...]) -> None:
        super().__init__(message, hint)
        self.findings = findings

    def as_dict(self) -> dict[str, object]:
        """Return the error with its findings (masked, never the secret itself)."""
        return {**super().as_dict(), "findings": list(self.findings)}


class SecretInCommitError(SecretFoundError):
    """A commit that would be pushed holds what looks like a secret; only a person may take their own commit back."""

    exit_code = NEEDS_HUMAN


class NotFoundError(EngramError):
    """No entry, file or store has that name."""

    code = "not-found"
    exit_code = NOT_FOUND


class AmbiguousError(EngramError):
    """A name fits several entries; `candidates` lists them as (id, title)."""

    code = "ambiguous"
    exit_code = NEEDS_HUMAN

    def __init__(self, message: str, hint: str, candidates: tuple[tuple[str, str], ...]) -> None:
        super().__init__(message, hint)
        self.candidates = candidates

    def as_dict(self) -> dict[str, object]:
        """Return the error with its candidates."""
        found = [{"id": lore_id, "title": title} for lore_id, title in self.candidates]
        return {**super().as_dict(), "candidates": found}


class ConflictError(EngramError):
    """The file changed underneath while it was being changed; nothing was overwritten."""

    code = "conflict"
    exit_code = NEEDS_HUMAN


class StaleError(ConflictError):
    """The entry is not the one that the caller read; `current` is the digest that its file has now ("": there is none)."""

    def __init__(self, message: str, hint: str = "", *, current: str = "") -> None:
        super().__init__(message, hint)
        self.current = current

    def as_dict(self) -> dict[str, object]:
        """Return the error with the digest to read again by."""
        return {**super().as_dict(), "current": self.current}


class CursorGoneError(NotFoundError):
    """A cursor of a list of changes that is not kept any more; begin without one."""


class NotAllowedError(EngramError):
    """The store's own settings leave this to somebody else."""

    code = "not-allowed"
    exit_code = NEEDS_HUMAN


class LoreFileError(EngramError):
    """An entry file cannot be read as lore. `path` is relative to the store, `line` counts from 1 (0: unknown)."""

    code = "unreadable"

    def __init__(self, path: str, line: int, message: str, hint: str = "") -> None:
        where = f"{path}:{line}" if line else path
        super().__init__(f"{where}: {message}", hint)
        self.path = path
        self.line = line
        self.reason = message

    def as_dict(self) -> dict[str, object]:
        """Return the error with where it is."""
        return {**super().as_dict(), "path": self.path, "line": self.line}


class UnreadableSentError(LoreFileError):
    """A file that cannot be read as lore was sent to others; whoever wrote it has to correct it."""

    exit_code = NEEDS_HUMAN


class StayedBehindError(EngramError):
    """A file was not sent to others, because none of them could take it; `path` is relative to the store."""

    code = "stayed-behind"
    exit_code = NEEDS_HUMAN

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{path} stayed behind: it {why}.",
            "Mend or rename it, then sync again. Everything else is not affected.",
        )
        self.path = path

    def as_dict(self) -> dict[str, object]:
        """Return the error with the path."""
        return {**super().as_dict(), "path": self.path}


class StoreError(EngramError):
    """The store cannot be opened, read or written."""

    code = "store"


class ConfigError(EngramError):
    """A configuration file or value is wrong."""

    code = "config"
    exit_code = USAGE


class GitError(EngramError):
    """A git command failed; `command` and `stderr` say which and how."""

    code = "git"

    def __init__(self, message: str, hint: str = "", *, command: str = "", stderr: str = "") -> None:
        super().__init__(message, hint)
        self.command = command
        self.stderr = stderr


class RemoteError(EngramError):
    """A remote cannot be reached, or refuses; `kind` says how: offline, timeout, auth, declined and so on."""

    code = "remote"
    exit_code = REMOTE_FAILED

    def __init__(self, kind: str, message: str, hint: str = "", *, stderr: str = "") -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.stderr = stderr

    def as_dict(self) -> dict[str, object]:
        """Return the error with its kind."""
        return {**super().as_dict(), "kind": self.kind}


class SyncBlockedError(EngramError):
    """A sync cannot go on by itself: what came in is refused, or the repository needs a person first."""

    code = "blocked"
    exit_code = NEEDS_HUMAN
