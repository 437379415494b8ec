"""One call of the command line: its arguments, its output, and its store, opened on first use."""

from __future__ import annotations

import os
import sys

from engram.cli.output import Output, at_terminal
from engram.domain.errors import EngramError, UsageError, ValidationError
from engram.domain.text.safe_text import safe_text
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from engram.usecases.store.store import Caller, Store


class Call:
    """The argument of every command's `run`."""

    def __init__(self, arguments: argparse.Namespace, output: Output) -> None:
        self.arguments = arguments
        self.output = output
        self.wrote = False
        self.synced = False
        self.takes_scopes = False
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The store of this call. Raises NotFoundError, StoreError, ConfigError."""
        if self._store is None:
            from engram.usecases.opening.open_store import open_store, own_store_notice

            path = self.arguments.store
            path = None if path is None else os.path.expanduser(path)
            start = os.path.expanduser(os.environ.get("ENGRAM_STORE", "")) or None
            self._store = open_store(path, current_caller(), scope=self.scope, start=start)
            for note in (*self._store.notes, own_store_notice(self._store, os.getcwd())):
                if note:
                    self.output.note(note)
        return self._store

    def mention_own_store(self) -> None:
        """Tell the user if their own store is used because there is none here."""
        from engram.domain.scopes import USER

        if self.store.stand.scope == USER and not self.store.stand.named:
            self.output.dim("This is your own store, since there is none here; `engram init` makes one.")

    @property
    def scope(self) -> str:
        """The scope named by `--scope`, or "". Raises UsageError for several, unless the command takes them."""
        named = list(dict.fromkeys(self.arguments.scope))
        if len(named) > 1 and not self.takes_scopes:
            raise UsageError(
                f"This command takes one scope, not {', '.join(named)}.", "Only `engram query` takes several."
            )
        return named[0] if len(named) == 1 else ""

    @property
    def is_interactive(self) -> bool:
        """Whether the user can be asked."""
        arguments = self.arguments
        return at_terminal() and not (arguments.no_input or arguments.json)

    def confirm(self, question: str) -> bool:
        """Ask a yes/no question; `--yes` answers it. Raises UsageError if there is no terminal to ask at."""
        if self.arguments.yes:
            return True
        if not self.is_interactive:
            raise UsageError(f"Cannot ask without a terminal: {question}", "Add --yes to answer yes.")
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}

    def may_delete(self, paths: Sequence[str]) -> bool:
        """Ask before deleting files that Engram could not restore. True if there are none, or nobody can be asked."""
        if not paths or not self.is_interactive:
            return True
        why = "Engram does not commit there, so it cannot restore it; git may."
        return self.confirm(f"Delete {safe_text(', '.join(paths))}? {why}")

    def close_store(self) -> None:
        """Close the store early, without the work that `finish` leaves to the background."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def finish(self) -> None:
        """Close the store and leave commits and indexing to the background."""
        if self._store is not None:
            from engram.usecases.upkeep.background import after_command, note_change

            try:
                for other in self._store.others.values():
                    if other.own_writes:
                        note_change(other)
                    after_command(other, wrote=bool(other.own_writes))
                if self.wrote and not self.synced:
                    note_change(self._store)
                after_command(self._store, wrote=self.wrote)
            except EngramError as error:
                # The command itself succeeded; uncommitted changes stay in the write journal.
                self.output.note(f"Not in git yet: {error.message} {error.hint}")
            finally:
                self._store.close()


def current_caller() -> Caller:
    """Return the session and agent that call the command line, from the environment."""
    from engram.adapters.agents.session import agent_name, session_name
    from engram.usecases.store.store import Caller

    return Caller(session_name(os.environ), agent_name(os.environ), "cli")


def split_pair(given: str, what: str, hint: str) -> tuple[str, str]:
    """Split `name=value`. Raises UsageError, which says that it is not `what`."""
    name, sign, value = given.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"'{given[:60]}' is not {what}.", hint)
    return name, value


def text_or_stdin(given: str | None, what: str) -> str:
    """Return the argument, or standard input if it is `-` or missing in a pipe. Raises UsageError, ValidationError."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise UsageError(f"No {what} was given.", "Pass it as an argument, or - to read standard input.")
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"Standard input is not UTF-8 (byte {error.start})."
        raise ValidationError("content", message, "Convert it, for example with `iconv -t utf-8`.") from None
