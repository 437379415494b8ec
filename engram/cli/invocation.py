"""One call of the command line: its arguments, its output, and the store it is about, opened when first asked for."""

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
    """What a command gets."""

    def __init__(self, arguments: argparse.Namespace, output: Output) -> None:
        """Nothing is opened yet."""
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
            start = os.environ.get("ENGRAM_STORE") or None
            start = None if start is None else os.path.expanduser(start)
            self._store = open_store(path, caller_here(), scope=self.scope, start=start)
            for note in (*self._store.notes, own_store_notice(self._store, os.getcwd())):
                if note:
                    self.output.note(note)
        return self._store

    def tell_own_store(self) -> None:
        """Say so where the person's own store took the place of one that is not here."""
        from engram.domain.scopes import USER

        if self.store.stand.scope == USER and not self.store.stand.named:
            self.output.rule("This is your own store, since there is none here; `engram init` makes one.")

    @property
    def scope(self) -> str:
        """The scope that the call names ("" for none). Raises UsageError for several, which only `query` can take."""
        named = list(dict.fromkeys(self.arguments.scope))
        if len(named) > 1 and not self.takes_scopes:
            raise UsageError(
                f"This command takes one scope, not {', '.join(named)}.", "Only `engram query` takes several."
            )
        return named[0] if len(named) == 1 else ""

    @property
    def is_interactive(self) -> bool:
        """Whether a question may be asked."""
        arguments = self.arguments
        return at_terminal() and not (arguments.no_input or arguments.json)

    def confirm(self, question: str) -> bool:
        """Ask for a yes; `--yes` says it beforehand, and without a terminal nothing is asked. Raises UsageError."""
        if self.arguments.yes:
            return True
        if not self.is_interactive:
            raise UsageError(f"Cannot ask without a terminal: {question}", "Add --yes to answer yes.")
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}

    def may_delete(self, paths: Sequence[str]) -> bool:
        """Ask a person whether files may go that Engram could not bring back; without any, or in a script, they may."""
        where = "Engram does not commit there, so it cannot restore it; git may."
        asks = bool(paths) and self.is_interactive
        return not asks or self.confirm(f"Delete {safe_text(', '.join(paths))}? {where}")

    def leave_store(self) -> None:
        """Close the store for good: it is not where it was, so nothing is left to do there."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def finish(self) -> None:
        """Close the store, leaving to the background what can wait."""
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
                # The command itself is done; what waits for git goes on waiting in the write journal.
                self.output.note(f"Not in git yet: {error.message} {error.hint}")
            finally:
                self._store.close()


def caller_here() -> Caller:
    """Return who calls the command line, as the environment says."""
    from engram.adapters.agents.session import agent_name, session_name
    from engram.usecases.store.store import Caller

    return Caller(session_name(os.environ), agent_name(os.environ), "cli")


def split_pair(given: str, what: str, hint: str) -> tuple[str, str]:
    """Return the name and the value of `name=value`. Raises UsageError, which says that it is not `what`."""
    name, sign, value = given.partition("=")
    if not sign or not name.strip():
        raise UsageError(f"'{given[:60]}' is not {what}.", hint)
    return name, value


def text_or_stdin(given: str | None, what: str) -> str:
    """The argument, or standard input for `-` (or for nothing, in a pipe). Raises UsageError, ValidationError."""
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
