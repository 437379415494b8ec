"""The history table: its events, filters, and the rebuild of a damaged table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apikit import COLOUR, SetClock, git, lore_files, ok, open_test_store
from effort import sampled
from storekit import commit

from engram.adapters.state import history_table
from engram.adapters.state.history_table import HistoryTable
from engram.usecases.history.history_feed import with_history
from engram.usecases.history.log import history, recent

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.store.store import Store

Rows = list[tuple[Any, ...]]


def rows(table: HistoryTable) -> Rows:
    """Return all rows of a table, in an order independent of when they were added."""
    run = table._connection.execute
    events = run(
        "SELECT oid, rank, e.* FROM events e JOIN commits USING (number) ORDER BY oid, path, id"
    ).fetchall()
    return [(*row[:2], *row[3:]) for row in events] + run(
        "SELECT oid, rank, subject FROM commits ORDER BY oid"
    ).fetchall()


def stored_rows(store: Store) -> Rows:
    """Return the rows of the store's own table, updated to HEAD."""
    return with_history(store, rows)


def path_of(engram: Engram) -> Path:
    return Path(history_table.table_path(engram.store.places.state))


def person_commits(root: Path, message: str = "by hand") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def test_events_show_agent_kind_and_confidence(engram: Engram) -> None:
    newest, oldest = history(engram.store, engram.list(sort="confidence").lore[0].lore.id)[1]
    assert (newest.kind, newest.confidence_before, newest.confidence, newest.validation_count) == (
        "judged",
        0.7,
        0.78,
        1,
    )
    assert (newest.agent, newest.source, newest.delta) == ("ada", engram.store.source, "+0.08")
    assert newest.op
    assert (oldest.kind, oldest.confidence_before, oldest.confidence, oldest.fields) == (
        "added",
        None,
        0.7,
        (),
    )


@sampled("damage", ["rubbish", "short", "version", "dropped", "folder"], 2)
def test_a_damaged_table_is_rebuilt(engram: Engram, damage: str) -> None:
    whole = stored_rows(engram.store)
    path = path_of(engram)
    if damage == "rubbish":
        path.write_bytes(b"rubbish" * 1000)
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        with closing(HistoryTable(str(path))) as table:
            table._connection.execute(
                "PRAGMA user_version=99" if damage == "version" else "DROP TABLE events"
            )
    assert stored_rows(engram.store) == whole


def test_a_branch_without_commits_has_no_history(engram: Engram) -> None:
    stored_rows(engram.store)
    git(Path(engram.path), "switch", "-q", "--orphan", "empty")
    assert stored_rows(engram.store) == []
    assert [one.subject.split(" (")[0] for one in recent(engram.store)] == ["feedback: helpful"]


def test_the_history_of_all_entries_is_by_commit_and_can_be_filtered(engram: Engram) -> None:
    root = Path(engram.path)
    clock = engram.store.clock
    assert isinstance(clock, SetClock)
    clock.advance(days=3)
    with open_test_store(root, clock=clock, agent="bob") as other:
        other.record(COLOUR, category="fact")
        commit(other)
    (root / "notes.txt").write_text("not lore\n")
    person_commits(root, "not lore")
    rows = ok("log", "--json", cwd=root).json["history"]
    assert [row["subject"].split(":")[0] for row in rows] == ["record", "feedback", "record", "record"]
    assert all(len(row["lore"]) == 1 for row in rows)
    assert [row["agent"] for row in ok("log", "--limit", "2", "--json", cwd=root).json["history"]] == [
        "bob",
        "ada",
    ]
    assert len(ok("log", "--agent", "ada", "--json", cwd=root).json["history"]) == 3
    since = f"{clock.now():%Y-%m-%d}"
    assert [row["agent"] for row in ok("log", "--since", since, "--json", cwd=root).json["history"]] == [
        "bob"
    ]
    assert ok("log", "--since", "2999-01-01", cwd=root).out == "No commit or judgement fits.\n"


def test_an_operation_on_many_entries_is_one_line(engram: Engram, tmp_path: Path) -> None:
    root = Path(engram.path)
    for file in lore_files(root):
        file.write_text(file.read_text("utf-8") + "\nMore.\n", "utf-8")
    person_commits(root, "all of them")
    assert any(line.endswith("all of them · 2 entries") for line in ok("log", cwd=root).out.splitlines())
