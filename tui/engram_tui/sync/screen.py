"""The sync screen: what waits to be pushed and pulled, what came in, and syncing, which runs in the background."""

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
from engram_tui.sync.worker import Ended, progress_line, run_sync
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
    """Sync, and see what it does."""

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
        self._unsaid: tuple[EngramError | str, ...] = ()  # what the last sync reported, until it is shown

    def compose_above(self) -> Iterator[Widget]:
        """Yield the remote, how the last sync ended, and the progress of this one."""
        yield Static("opening …", id="where", markup=False)
        yield Static(id="last", markup=False)
        yield Static(id="running", markup=False)

    def on_mount(self) -> None:
        """Read what is known without the network."""
        self.store_changed()

    def on_unmount(self) -> None:
        """Cancel a sync: leaving does not wait for the network."""
        if self.cancel is not None:
            self.cancel.set()

    # Conditions of the actions

    def is_syncing(self) -> bool:
        """Return whether a sync is running."""
        return self.cancel is not None

    def can_sync(self) -> bool:
        """Return whether there is something to sync with."""
        return not self.is_syncing() and self.has_remotes()

    def has_remotes(self) -> bool:
        """Return whether there is a remote."""
        return self.view is not None and bool(self.view.remotes)

    def can_have_remotes(self) -> bool:
        """Return whether remotes are Engram's to add."""
        return self.view is not None and self.view.is_own

    def can_forget_remotes(self) -> bool:
        """Return whether there is a remote to remove."""
        return self.can_have_remotes() and self.has_remotes()

    # Showing

    def store_changed(self) -> None:
        """Read anew what waits."""
        self.ask("view", read_view, self._take_view, failed=self._no_view)

    def _take_view(self, view: View) -> None:
        self.view = view
        self.redraw()
        self.shell.note_shown(self)

    def _no_view(self, line: str) -> None:
        self.view = None
        self.query_one("#where", Static).update(safe_line(line))
        self.line_list.set_placeholder("There is nothing to sync here.")
        self.line_list.show_lines([])
        self.shell.note_shown(self)
        self.refresh_bindings()

    def redraw(self) -> None:
        """Draw what was read."""
        view = self.view
        if view is None:
            return
        self.query_one("#where", Static).update(safe_line(where_line(view)))
        text, failed = last_line(view, self.now())
        last = self.query_one("#last", Static)
        last.update(safe_line(text))
        last.set_class(failed, "-bad")
        last.display = bool(text)
        if self._unsaid:  # once, whatever happens then
            said = [one if isinstance(one, str) else describe_error(one) for one in self._unsaid]
            self.show_error("; ".join(one for one in said if one not in text))
            self._unsaid = ()
        self.line_list.set_placeholder(*empty_lines(view))
        self.line_list.show_lines(
            lines_of(view, self.result, self.now(), self.app.size.width), keep=self.line_list.current_id
        )
        self.refresh_bindings()

    def change_note(self, line: Line) -> str:
        """Return what happened to the entry, in a line."""
        found = self._change(line)
        return change_line(found) if found else ""

    def placeholder(self, line: Line | None) -> tuple[str, ...]:
        """Return what is known of an entry that is gone."""
        found = self._change(line) if line is not None and not line.entry_id else None
        return details_of(found) if found else ()

    def _change(self, line: Line) -> LoreChange | None:
        name, _, rest = line.id.partition(":")
        number = rest.partition(":")[0]
        if self.view is None or not number.isdigit():
            return None
        found = self.view.exchange
        lists = {"out": found.outgoing.lore, "in": found.incoming.lore, "came": self.view.came_in}
        lists["result"] = self.result.arrived if self.result else ()
        entry_id = rest.rpartition(":")[2]
        return next((one for one in lists[name] if one.id == entry_id), None)

    # Syncing

    def action_sync(self, only: str = "") -> None:
        """Sync both ways, or only `--pull`, only `--push`, or (`--dry-run`) look what a sync would do."""
        options, dry_run = Options(pull=only != "--push", push=only != "--pull"), only == "--dry-run"
        if self.view is None or self.is_syncing():
            return
        found = self.view.exchange
        start = partial(self._start, command=f"engram sync {only}".strip(), dry_run=dry_run)
        if not found.remote:
            self._pick_remote("Sync with", lambda name: start(options._replace(remote=name)))
        elif options.push and not dry_run and not found.known and found.outgoing.total:
            self._confirm_first(found.remote, found.outgoing.total, lambda: start(options))
        else:
            start(options)

    def _confirm_first(self, remote: str, number: int, then: Callable[[], None]) -> None:
        assert self.view is not None
        url = next((one.url for one in self.view.remotes if one.name == remote), remote)
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
                ended = run_sync(self.store, options, dry_run=dry_run, cancel=cancel, progress=progress)
            except Exception as error:  # noqa: BLE001 - a defect must not take the app with it
                self.call_later(self._handle_failure, describe_defect(error))
            else:
                self.call_later(self._handle_end, ended)

        self.run_worker(run, thread=True, group="sync", exit_on_error=False)

    def _show_progress(self, step: str) -> None:
        if self.cancel is not None and not self.cancel.is_set():
            self.query_one("#running", Static).update(safe_line(f"{progress_line(step)}   esc cancels"))

    def action_cancel_sync(self) -> None:
        """Cancel the sync."""
        if self.cancel is not None:
            self.cancel.set()
            self.query_one("#running", Static).update("cancelling …")

    def _over(self) -> None:
        self.cancel = None
        self.query_one("#running").display = False
        self.shell.note_own_change(self)
        self.store_changed()
        self.refresh_bindings()

    def _handle_failure(self, line: str) -> None:
        self._over()
        self.show_error(line)

    def _handle_end(self, ended: Ended) -> None:
        done = ended.done
        if ended.planned is None:
            self.result = Result(done, one_per_entry(ended.arrived))
        errors = ([ended.error] if ended.error else []) + list(done.errors if done else ())
        self._unsaid = (*errors, *(done.notes if done else ()))
        self.show_error("")
        if ended.cancelled:
            number = len(ended.arrived)
            text = f"{entries(number)} had come in completely." if number else "Nothing was changed."
            self.toast("Sync cancelled", f"{text} Nothing is half done.")
        elif ended.planned is not None:
            pulled, pushed, merged = (count(len(paths)) for paths in ended.planned.plan)
            waiting = ended.planned.waiting
            also = f" {count(waiting)} not committed yet would be pushed, too." if waiting else ""
            self.toast(
                "Dry run",
                f"Would pull {pulled}, push {pushed}, merge {merged}.{also} Nothing was changed here.",
            )
        elif done is not None:
            waiting = self.shell.heading.waiting if self.shell.heading else 0
            self.toast("Sync", result_sentence(Result(done, ended.arrived), waiting))
        self._over()

    # Remotes

    def action_add_remote(self) -> None:
        """Ask for the address of a remote."""
        name = "" if self.has_remotes() else "origin "
        explain = "A name and the address of a git repository: https, ssh or a folder."
        hint = "origin git@example.org:team/lore.git"
        self.prompt("Add a remote", self._remote_typed, name, hint=hint, explain=explain)

    def _remote_typed(self, text: str) -> None:
        given = text.split(maxsplit=1)
        if not given:
            return
        name, url = given if len(given) == 2 else ("origin", given[0])
        if not self.store.store.places.repository:
            return
        self.execute(commands.add_remote(name, url), ())

    def action_remove_remote(self) -> None:
        """Remove a remote."""
        self._pick_remote("Remove which remote", self._remove)

    def _remove(self, name: str) -> None:
        known = self.view.remotes if self.view else ()
        url = next((one.url for one in known if one.name == name), "")
        self.execute(commands.remove_remote(name, url), ())

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Show the remotes as they are now."""
        super().command_done(command, ids, outcome)
        self.store_changed()

    def _pick_remote(self, title: str, then: Callable[[str], None]) -> None:
        from engram_tui.shell.picker import Choice

        known = self.view.remotes if self.view else ()
        choices = [Choice(one.name, one.name, after=one.url) for one in known]
        self.pick(title, choices, then)
