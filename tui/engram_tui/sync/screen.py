"""The sync screen: what waits to be pushed and pulled, what came in, and syncs, which run in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from textual.widgets import Static

from engram.domain.text.counted_nouns import entries
from engram.usecases.sync.sync import Options
from engram_tui.shell.errors import describe_defect, describe_error
from engram_tui.shell.sanitize import safe_line
from engram_tui.sync import commands
from engram_tui.sync.actions import ACTIONS
from engram_tui.sync.lines import (
    Result,
    View,
    change_line,
    details_of,
    empty_lines,
    last_line,
    lines_of,
    one_per_entry,
    read_view,
    result_sentence,
    where_line,
)
from engram_tui.sync.worker import SyncOutcome, progress_line, run_sync
from engram_tui.widgets.format import count
from engram_tui.widgets.line_screen import LineScreen

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.errors import EngramError
    from engram.usecases.sync.traffic import LoreChange
    from engram_tui.shell.command import Command, Outcome
    from engram_tui.widgets.line_list import Line


class SyncScreen(LineScreen):
    """Sync, and show what it does."""

    SCREEN = "sync"
    DEFAULT_CSS = """
    SyncScreen {
        & #where, & #last { height: auto; max-height: 4; padding: 0 1; background: $surface; }
        & #last { color: $text-muted; }
        & #last.-bad { color: $text-error; background: $error 10%; }
        & #running { height: 1; padding: 0 1; background: $primary 25%; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.view: View | None = None
        self.result: Result | None = None
        self.cancel: Event | None = None  # of the sync that runs
        self._reports: tuple[
            EngramError | str, ...
        ] = ()  # errors and notes of the last sync, until they are shown

    def compose_above(self) -> Iterator[Widget]:
        """Yield the remote, how the last sync ended, and the progress of a running one."""
        yield Static("opening …", id="where", markup=False)
        yield Static(id="last", markup=False)
        yield Static(id="running", markup=False)

    def on_mount(self) -> None:
        """Read the state, without the network."""
        self.store_changed()

    def on_unmount(self) -> None:
        """Cancel a running sync: leaving does not wait for the network."""
        if self.cancel is not None:
            self.cancel.set()

    # Conditions of the actions

    def is_syncing(self) -> bool:
        """Return whether a sync is running."""
        return self.cancel is not None

    def can_sync(self) -> bool:
        """Return whether a sync can be started."""
        return not self.is_syncing() and self.has_remotes()

    def has_remotes(self) -> bool:
        """Return whether there is a remote."""
        return self.view is not None and bool(self.view.remotes)

    def can_have_remotes(self) -> bool:
        """Return whether Engram may add and remove remotes."""
        return self.view is not None and self.view.is_own

    def can_forget_remotes(self) -> bool:
        """Return whether there is a remote to remove."""
        return self.can_have_remotes() and self.has_remotes()

    # Showing

    def store_changed(self) -> None:
        """Read again what waits."""
        self.ask("view", read_view, self._receive_view, failed=self._show_nothing)

    def _receive_view(self, view: View) -> None:
        self.view = view
        self.redraw()
        self.shell.note_shown(self)

    def _show_nothing(self, line: str) -> None:
        """Show why there is nothing to sync."""
        self.view = None
        self.query_one("#where", Static).update(safe_line(line))
        self.line_list.set_placeholder("There is nothing to sync here.")
        self.line_list.show_lines([])
        self.shell.note_shown(self)
        self.refresh_bindings()

    def redraw(self) -> None:
        """Draw the state that was read."""
        view = self.view
        if view is None:
            return
        self.query_one("#where", Static).update(safe_line(where_line(view)))
        text, failed = last_line(view, self.now())
        last = self.query_one("#last", Static)
        last.update(safe_line(text))
        last.set_class(failed, "-bad")
        last.display = bool(text)
        if self._reports:  # show them only once
            lines = [describe_error(item) if isinstance(item, Exception) else item for item in self._reports]
            self.show_error("; ".join(line for line in lines if line not in text))
            self._reports = ()
        self.line_list.set_placeholder(*empty_lines(view))
        self.line_list.show_lines(
            lines_of(view, self.result, self.now(), self.app.size.width), keep=self.line_list.current_id
        )
        self.refresh_bindings()

    def change_note(self, line: Line) -> str:
        """Return what happened to the entry, in a line."""
        change = self._change_of(line)
        return change_line(change) if change else ""

    def placeholder(self, line: Line | None) -> tuple[str, ...]:
        """Return the details of an entry that no longer exists."""
        change = self._change_of(line) if line is not None and not line.entry_id else None
        return details_of(change) if change else ()

    def _change_of(self, line: Line) -> LoreChange | None:
        name, _, rest = line.id.partition(":")
        number = rest.partition(":")[0]
        if self.view is None or not number.isdigit():
            return None
        exchange = self.view.exchange
        lists = {"out": exchange.outgoing.lore, "in": exchange.incoming.lore, "came": self.view.came_in}
        lists["result"] = self.result.arrived if self.result else ()
        entry_id = rest.rpartition(":")[2]
        return next((change for change in lists[name] if change.id == entry_id), None)

    # Syncing

    def action_sync(self, only: str = "") -> None:
        """Sync both ways, or only `--pull`, only `--push`, or (`--dry-run`) find out what a sync would do."""
        options, dry_run = Options(pull=only != "--push", push=only != "--pull"), only == "--dry-run"
        if self.view is None or self.is_syncing():
            return
        exchange = self.view.exchange
        start = partial(self._start, command=f"engram sync {only}".strip(), dry_run=dry_run)
        if not exchange.remote:
            self._pick_remote("Sync with", lambda name: start(options._replace(remote=name)))
        elif options.push and not dry_run and not exchange.known and exchange.outgoing.total:
            self._confirm_first(exchange.remote, exchange.outgoing.total, lambda: start(options))
        else:
            start(options)

    def _url_of(self, name: str) -> str:
        remotes = self.view.remotes if self.view else ()
        return next((remote.url for remote in remotes if remote.name == name), "")

    def _confirm_first(self, remote: str, number: int, then: Callable[[], None]) -> None:
        url = self._url_of(remote) or remote
        question = f"{entries(number)} will be pushed to\n{url}\nWhoever can read it can read them; undo cannot take them back."
        self.confirm("The first sync with this remote", question, then)

    def _start(self, options: Options, *, command: str, dry_run: bool) -> None:
        cancel = self.cancel = Event()
        self.shell.log_command(f"{command} {options.remote}".strip(), ())
        self._show_progress("beginning")
        self.query_one("#running").display = True
        self.refresh_bindings()

        def run() -> None:
            def progress(step: str) -> None:
                self.call_later(self._show_progress, step)

            try:
                outcome = run_sync(self.store, options, dry_run=dry_run, cancel=cancel, progress=progress)
            except Exception as error:  # noqa: BLE001 - a defect must not end the app
                self.call_later(self._handle_failure, describe_defect(error))
            else:
                self.call_later(self._handle_outcome, outcome)

        self.run_worker(run, thread=True, group="sync", exit_on_error=False)

    def _show_progress(self, step: str) -> None:
        if self.cancel is not None and not self.cancel.is_set():
            self.query_one("#running", Static).update(safe_line(f"{progress_line(step)}   esc cancels"))

    def action_cancel_sync(self) -> None:
        """Cancel the sync."""
        if self.cancel is not None:
            self.cancel.set()
            self.query_one("#running", Static).update("cancelling …")

    def _finish(self) -> None:
        self.cancel = None
        self.query_one("#running").display = False
        self.shell.note_own_change(self)
        self.store_changed()
        self.refresh_bindings()

    def _handle_failure(self, line: str) -> None:
        self._finish()
        self.show_error(line)

    def _handle_outcome(self, outcome: SyncOutcome) -> None:
        done = outcome.done
        if outcome.planned is None:
            self.result = Result(done, one_per_entry(outcome.arrived))
        errors = ([outcome.error] if outcome.error else []) + list(done.errors if done else ())
        self._reports = (*errors, *(done.notes if done else ()))
        self.show_error("")
        if outcome.cancelled:
            number = len(outcome.arrived)
            text = f"{entries(number)} had come in completely." if number else "Nothing was changed."
            self.toast("Sync cancelled", f"{text} Nothing is half done.")
        elif outcome.planned is not None:
            pulled, pushed, merged = (count(len(paths)) for paths in outcome.planned.plan)
            waiting = outcome.planned.waiting
            also = f" {count(waiting)} not committed yet would be pushed, too." if waiting else ""
            self.toast(
                "Dry run",
                f"Would pull {pulled}, push {pushed}, merge {merged}.{also} Nothing was changed here.",
            )
        elif done is not None:
            waiting = self.shell.heading.waiting if self.shell.heading else 0
            self.toast("Sync", result_sentence(Result(done, outcome.arrived), waiting))
        self._finish()

    # Remotes

    def action_add_remote(self) -> None:
        """Ask for the address of a remote."""
        name = "" if self.has_remotes() else "origin "
        explain = "A name and the address of a git repository: https, ssh or a folder."
        hint = "origin git@example.org:team/lore.git"
        self.prompt("Add a remote", self._add, name, hint=hint, explain=explain)

    def _add(self, text: str) -> None:
        words = text.split(maxsplit=1)
        if words and self.store.store.places.repository:
            name, url = words if len(words) == 2 else ("origin", words[0])
            self.execute(commands.add_remote(name, url), ())

    def action_remove_remote(self) -> None:
        """Remove a remote."""
        self._pick_remote("Remove which remote", self._remove)

    def _remove(self, name: str) -> None:
        self.execute(commands.remove_remote(name, self._url_of(name)), ())

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Show the remotes as they are now."""
        super().command_done(command, ids, outcome)
        self.store_changed()

    def _pick_remote(self, title: str, then: Callable[[str], None]) -> None:
        from engram_tui.shell.picker import Choice

        remotes = self.view.remotes if self.view else ()
        choices = [Choice(remote.name, remote.name, after=remote.url) for remote in remotes]
        self.pick(title, choices, then)
