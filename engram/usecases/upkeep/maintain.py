"""Periodic maintenance of a store: observations, migration, archiving, garbage, sessions, git objects.

It is idempotent, and runs in the background after a sync, at most once a day.
"""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, ARCHIVED, Lore
from engram.domain.errors import EngramError
from engram.domain.graph.team import SUMMARY, TAKEN_OVER
from engram.domain.scopes import past_retention
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.agents import observations
from engram.usecases.index.index_query import query_index
from engram.usecases.store import entry_writer, sync_state
from engram.usecases.store.quarantine import without_quarantined
from engram.usecases.store.store import BY_ITSELF, Caller, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.index.catalog import Hit

_NAME = "last-maintenance.json"
_DAY = 86_400.0
# Entries that a step changes in the background; the rest follows the next day, which keeps syncs small.
_MOST_AUTOMATIC = 1000
_MOST_TRAILERS = 100  # ids in the commit message; the commit itself has all paths
_OLD = (
    "status = ? AND pinned = 0 AND max(updated_at, coalesce(last_validated, 0)) < ?"
    " AND (category = ? OR row IN (SELECT row FROM row_tags WHERE tag = ?))"
)
_UNUSED = "pinned = 0 AND ((status IN ('archived', 'superseded') AND updated_at < ?) OR created_at < ?)"


class Done(NamedTuple):
    """A step: the `number` of its changes, and its `error` ("" if none)."""

    step: str
    number: int
    error: str = ""


class Maintained(NamedTuple):
    """The steps done, or with `dry_run` to be done."""

    scope: str
    dry_run: bool
    steps: tuple[Done, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the steps as JSON."""
        return {**self._asdict(), "steps": [step._asdict() for step in self.steps]}


def maintain(store: Store, *, dry_run: bool = False) -> Maintained:
    """Run all steps; with `dry_run`, only count. A failing step does not stop the others."""
    steps = []
    for name, work in STEPS.items():
        try:
            with store.lock:
                steps.append(Done(name, work(store, dry_run)))
        except EngramError as error:
            steps.append(Done(name, 0, error.message))
    if not dry_run:
        _save_time(store)
    return Maintained(store.places.scope, dry_run, tuple(steps))


def maintain_if_due(store: Store) -> Maintained | None:
    """Run maintenance in the background if it is due, else return None; `engram undo` skips its commits."""
    if not is_due(store):
        return None
    with store.calling(Caller(BY_ITSELF, "", "maintain")):
        return maintain(store)


def is_due(store: Store) -> bool:
    """Whether the last maintenance was at least a day ago, and a sync followed it."""
    if not store.settings.flag("maintain.auto"):
        return False
    synced, last = _parse_time(sync_state.last(store)["succeeded"]), last_time(store)
    now = store.clock.now().timestamp()
    # A clock set back must not postpone it forever.
    return synced > 0 and (last <= 0 or last > now or (synced >= last and now - last >= _DAY))


def last_time(store: Store) -> float:
    """Return the time of the last maintenance (Unix seconds, 0.0: never)."""
    try:
        return _parse_time(json.loads(atomic.read(os.path.join(store.places.state, _NAME)))["at"])
    except (EngramError, ValueError, KeyError, TypeError):
        return 0.0


def _record_observations(store: Store, dry_run: bool) -> int:
    return observations.waiting(store) if dry_run else observations.process_observations(store)


def _migrate(store: Store, dry_run: bool) -> int:
    """Move the votes in files of format 1 to the ledger; not in the background, where changed files would surprise."""
    if store.scope.readonly or store.caller.session == BY_ITSELF:
        return 0
    hits = _select(store, "accounts > 0", ())
    return _change(store, hits, "move the votes of", lambda _, lore: lore, dry_run=dry_run)


def _archive(store: Store, dry_run: bool) -> int:
    """Archive session summaries and taken handoffs without activity for `team.archive_days`."""
    days = store.settings.number("team.archive_days")
    if not days or store.scope.readonly:
        return 0
    before = store.clock.now().timestamp() - days * _DAY
    hits = _select(store, _OLD, (ACTIVE, before, SUMMARY, TAKEN_OVER))
    return _change(store, hits, "archive", _archive_entry, dry_run=dry_run)


def _delete_garbage(store: Store, dry_run: bool) -> int:
    """Delete entries unused for `scopes.NAME.garbage_days`; git's history keeps them."""
    now = store.clock.now().timestamp()
    before = store.scope.garbage_before(now)
    if not before or store.scope.readonly:
        return 0
    horizon = store.scope.horizon(before)
    hits = [hit for hit in _select(store, _UNUSED, (before, horizon)) if _is_garbage(hit, before, horizon)]
    return _change(store, hits, "delete", None, dry_run=dry_run)


def _is_garbage(hit: Hit, before: float, horizon: float) -> bool:
    if hit.status in ("archived", "superseded") and hit.updated_at < before:
        return True
    return bool(horizon) and past_retention(hit.created_at, hit.last_validated, bool(hit.pinned), horizon)


def _sweep_sessions(store: Store, dry_run: bool) -> int:
    from engram.usecases.opening.session_store import sweep, sweep_due

    return int(sweep_due(store)) if dry_run else sweep(store)


def _pack_objects(store: Store, dry_run: bool) -> int:
    """Let git pack loose objects above a threshold; return their number."""
    repository = store.places.repository
    if repository is None or not store.files.journaled:
        return 0
    from engram.adapters.git.write import maintain as git

    count = git.loose_objects(repository)
    if count <= git.THRESHOLD:
        return 0
    if not dry_run:
        git.maintain(repository)
    return count


def _remove_leftovers(store: Store, dry_run: bool) -> int:
    from engram.usecases.upkeep import leftovers

    return len(leftovers.find(store)) if dry_run else leftovers.remove(store)


def _refresh_importance(store: Store, dry_run: bool) -> int:
    from engram.usecases.graph.graph_building import refresh_importance

    return 0 if dry_run else int(refresh_importance(store))


STEPS: Mapping[str, Callable[[Store, bool], int]] = {
    "observations": _record_observations,
    "migrate": _migrate,
    "importance": _refresh_importance,
    "archive": _archive,
    "garbage": _delete_garbage,
    "sessions": _sweep_sessions,
    "objects": _pack_objects,
    "leftovers": _remove_leftovers,
}


def _select(store: Store, where: str, values: Sequence[object]) -> list[Hit]:
    found = query_index(
        store, lambda generation: generation.catalog.select(f"adopted = 1 AND {where}", values, "ORDER BY id")
    )
    return without_quarantined(store, found)


def _change(
    store: Store,
    hits: Sequence[Hit],
    action: str,
    compute: Callable[[Store, Lore], Lore] | None,
    *,
    dry_run: bool,
) -> int:
    """Change these entries, or delete them (`compute` None), as one commit; return their number.

    Unreadable files are skipped.
    """
    most = _MOST_AUTOMATIC if store.caller.session == BY_ITSELF else None
    changes, changed = [], []
    for hit in hits[:most]:
        file = entry_writer.load_readable(store, hit.path)
        if file is None or file.lore.id != hit.id or file.lore.conflicts:
            continue  # a person must resolve conflicts first
        content = None if compute is None else entry_writer.rewrite(store, file, compute(store, file.lore))
        changes.append(Change(hit.path, content, atomic.digest(file.raw)))
        changed.append(file.lore)
    if changes and not dry_run:
        details = [("Engram-Lore", lore.id) for lore in changed[1:_MOST_TRAILERS]]
        subject = f"maintain: {action} {entries(len(changed))}"
        entry_writer.write(store, [entry_writer.operation_for(store, changed[0], subject, changes, details)])
    return len(changes)


def _archive_entry(store: Store, lore: Lore) -> Lore:
    return lore._replace(status=ARCHIVED, updated_at=times.after(store.clock.now(), lore.updated_at))


def _save_time(store: Store) -> None:
    """Record the time; if that fails, maintenance just runs again."""
    at = times.render(times.whole_seconds(store.clock.now()))
    try:
        atomic.write(
            os.path.join(store.places.state, _NAME), json.dumps({"at": at}).encode(), "maintenance", 0o600
        )
    except EngramError:
        return


def _parse_time(text: object) -> float:
    try:
        return times.parse(text).timestamp() if isinstance(text, str) else 0.0
    except ValueError:
        return 0.0
