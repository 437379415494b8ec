"""When something is missing or broken, a store degrades by one step and reports it in answers and its status."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from storekit import commit, engram_command, open_test_store

from engram.adapters.embed.provider import BUNDLED_FOLDER
from engram.adapters.state.activity_table import ActivityLine
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import StoreError
from engram.usecases.index import file_scan, freshness
from engram.usecases.store.commit import has_work

if TYPE_CHECKING:
    from engram.app import Engram

TEXT = "The queue consumer must be idempotent."


def configure(home: Path, **embedding: str) -> None:
    """Write the user's own configuration."""
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    settings = "".join(f"{key} = {json.dumps(value)}\n" for key, value in embedding.items())
    file.write_text(f"[embedding]\n{settings}")


def store_with_lore(root: Path) -> Engram:
    engram = open_test_store(root)
    engram.record(TEXT, category="FACT")
    return engram


def broken_model(folder: Path) -> Path:
    """Make a model with valid vectors and a tokenizer that fails only when it is used."""
    folder.mkdir()
    for name in ("model.safetensors", "config.json"):
        shutil.copy(Path(BUNDLED_FOLDER, name), folder / name)
    (folder / "tokenizer.json").write_text('{"model": {"vocab": "nothing"}}')
    return folder


def test_without_a_provider_words_alone_find_lore(tmp_path: Path, home: Path) -> None:
    configure(home, provider="none")
    with store_with_lore(tmp_path / "store") as engram:
        answer = engram.query("idempotent consumer")
        assert (answer.strategy, len(answer.lore), answer.notes) == ("words", 1, ())
        status = engram.status()
        assert status["embedding"]["provider"] == "none"  # type: ignore[index]
        assert status["embedding"]["ok"] is True  # type: ignore[index]
        assert status["index"]["strategy"] == "words"  # type: ignore[index]


def test_a_model_folder_that_is_missing_leaves_words_and_a_note(tmp_path: Path, home: Path) -> None:
    configure(home, provider="path", path=str(tmp_path / "nothing"))
    with store_with_lore(tmp_path / "store") as engram:
        for _ in range(2):
            answer = engram.query("idempotent consumer")
            assert (answer.strategy, len(answer.lore), len(answer.notes)) == ("words", 1, 1)
            assert answer.notes[0].startswith("words only: The model folder")
        status = engram.status()
        assert status["embedding"]["ok"] is False  # type: ignore[index]
        assert "does not exist" in status["embedding"]["message"]  # type: ignore[index]


def test_a_tokenizer_that_turns_out_broken_leaves_words_and_a_note(tmp_path: Path, home: Path) -> None:
    model = broken_model(tmp_path / "model")
    configure(home, provider="path", path=str(model))
    root = tmp_path / "store"
    with store_with_lore(root) as engram:
        for _ in range(2):
            answer = engram.query("idempotent consumer")
            assert (answer.strategy, len(answer.lore), len(answer.notes)) == ("words", 1, 1)
            assert "tokenizer" in answer.notes[0]
        assert engram.status()["embedding"]["ok"] is False  # type: ignore[index]
        assert engram.record(f"{TEXT} Always.", category="FACT").path
    shutil.copy(Path(BUNDLED_FOLDER, "tokenizer.json"), model / "tokenizer.json")
    with open_test_store(root) as engram:
        answer = engram.query("idempotent consumer")
        assert (answer.strategy, len(answer.lore)) == ("hybrid", 2)
        assert [note.partition(";")[2] for note in answer.notes] == [" with 'path' it may be off"]


def test_a_model_that_breaks_after_the_index_was_made_leaves_words(tmp_path: Path, home: Path) -> None:
    model = broken_model(tmp_path / "model")
    shutil.copy(Path(BUNDLED_FOLDER, "tokenizer.json"), model / "tokenizer.json")
    configure(home, provider="path", path=str(model))
    root = tmp_path / "store"
    with store_with_lore(root) as engram:
        assert engram.query("idempotent consumer").strategy == "hybrid"
    with open_test_store(root) as engram:
        assert engram.store.embedder is not None  # opened, but the tokenizer is not read yet
        (model / "tokenizer.json").write_text("{")
        answer = engram.query("idempotent consumer")
        assert (answer.strategy, len(answer.lore), len(answer.notes)) == ("words", 1, 1)


def test_files_are_scanned_if_no_index_can_be_written(tmp_path: Path) -> None:
    root = tmp_path / "store"
    store_with_lore(root).close()
    state = root / ".git" / "engram"
    shutil.rmtree(state / "index", ignore_errors=True)
    (state / "index").write_text("in the way")
    (state / "index.damaged" / "too").mkdir(parents=True)
    with open_test_store(root) as engram:
        answer = engram.query("idempotent consumer")
        assert (answer.strategy, len(answer.lore)) == ("scan", 1)
        assert "index" in answer.notes[0]
        status = engram.status()
        assert status["index"]["ok"] is False  # type: ignore[index]
        assert "index" in status["index"]["message"]  # type: ignore[index]
        assert engram.record("retry", category="FACT").path
    done = engram_command(root, "query", "idempotent consumer", "--json", ENGRAM_BACKGROUND="inline")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["strategy"] == "scan"


@pytest.mark.parametrize("ask", ["list", "get", "feedback"])
def test_a_catalog_found_damaged_while_answering_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    """As in a large store, where nothing reads the whole catalog before answering."""
    root = tmp_path / "store"
    with store_with_lore(root) as engram:
        engram.refresh()
        lore_id = engram.list().lore[0].lore.id
        monkeypatch.setattr(freshness, "is_sweep_due", lambda *_: False)
        monkeypatch.setattr(file_scan, "folders_changed", lambda *_: False)
        generation = engram.store.index.look()
        assert generation is not None
        generation.catalog.connection.execute("ALTER TABLE files RENAME COLUMN status TO lost")
        if ask == "list":
            assert len(engram.list(status="active").lore) == 1
        elif ask == "get":
            assert engram.get(lore_id).lore.id == lore_id
        else:
            assert engram.feedback(helpful=lore_id[:12])[0].validation_count == 1


@pytest.mark.parametrize("head", ["", "nonsense", "0123456789abcdef"])
def test_a_damaged_head_does_not_prevent_queries(tmp_path: Path, head: str) -> None:
    root = tmp_path / "store"
    with store_with_lore(root) as engram:
        commit(engram)
        engram.refresh()
        good = (root / ".git" / "HEAD").read_text()
        (root / ".git" / "HEAD").write_text(head)
        assert len(engram.query("idempotent consumer").lore) == 1
        assert engram.record("retry the broker", category="FACT").path
        (root / ".git" / "HEAD").write_text(good)
        commit(engram)
        assert not has_work(engram.store)


def test_lore_recorded_without_git_is_committed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "store"
    open_test_store(root).close()
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_test_store(root, background=True) as engram:
        engram.record(TEXT, category="FACT")
        assert len(engram.query("idempotent consumer").lore) == 1
        assert engram.status()["git"]["pending"] == 1  # type: ignore[index]
    monkeypatch.setenv("PATH", path)
    with open_test_store(root) as engram:
        commit(engram)
        assert not has_work(engram.store)


# The private database

ENTRY = ActivityLine(1.0, "session", "query", "hybrid", "strong", ("ID",), (0.5,), 1.5)


def damage(file: Path, how: str) -> None:
    if how == "garbage":
        file.write_bytes(b"not a database" * 500)
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "a table missing":
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TABLE refs")
        connection.close()
    elif how == "pages":
        raw = bytearray(file.read_bytes())
        raw[4096:] = b"\x55" * (len(raw) - 4096)
        file.write_bytes(bytes(raw))
    elif how == "a folder":
        file.unlink()
        file.mkdir()


@pytest.mark.parametrize("how", ["garbage", "empty", "a table missing", "pages", "a folder"])
def test_a_damaged_state_database_does_not_prevent_work(tmp_path: Path, how: str) -> None:
    root = tmp_path / "store"
    with store_with_lore(root) as engram:
        assert engram.query("idempotent consumer").lore[0].ref == "L1"
    damage(root / ".git" / "engram" / "state.db", how)
    with open_test_store(root) as engram:
        assert engram.session_refs() == {}
        answer = engram.query("idempotent consumer")
        assert [hit.ref for hit in answer.lore] == ["L1"]
        assert engram.feedback(helpful="L1")[0].validation_count == 1
        assert engram.feedback(helpful="L1")[0].repeated
        assert engram.status()["session"]["surfaced"] == 1  # type: ignore[index]
    with open_test_store(root) as engram:
        assert len(engram.session_refs()) == (how != "a folder")  # else refs were only kept in memory


@pytest.mark.parametrize("how", ["garbage", "a table missing", "pages"])
def test_a_database_damaged_while_open_is_moved_aside(tmp_path: Path, how: str) -> None:
    messages: list[str] = []
    database = StateDatabase(str(tmp_path), messages.append)
    database.surface("session", [("ID", "title")], 1.0)
    database.close()
    database.refs("session")
    damage(tmp_path / "state.db", how)
    assert database.surface("session", [("ID", "title")], 1.0) == {"ID": "L1"}
    database.live.add(ENTRY)
    assert database.retrievals() == [ENTRY._replace(number=1)]
    database.close()
    if how == "a table missing":  # the rest of the file is intact and recovered
        assert not messages
        return
    assert len(messages) == 1
    assert "start empty" in messages[0]
    assert (tmp_path / "state.db.damaged").exists()


def test_without_a_writable_database_state_is_kept_in_memory(tmp_path: Path) -> None:
    messages: list[str] = []
    database = StateDatabase(str(tmp_path / "no" / "such" / "folder"), messages.append)
    assert database.surface("session", [("A", "title"), ("B", "title")], 1.0) == {"A": "L1", "B": "L2"}
    database.record_feedback("session", "A", "helpful", 1.0)
    assert database.has_judged("session", "A", "helpful")
    assert [ref.name for ref in database.refs("session")] == ["L1", "L2"]
    database.close()
    assert len(messages) == 1


def test_a_database_that_another_process_holds_is_an_error_and_stays(tmp_path: Path) -> None:
    database = StateDatabase(str(tmp_path))
    database.refs("session")
    database._connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
    holder = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked"):
        database.live.add(ENTRY)
    holder.execute("ROLLBACK")
    holder.close()
    database.live.add(ENTRY)
    assert len(database.retrievals()) == 1
    database.close()
    assert not (tmp_path / "state.db.damaged").exists()


def test_a_replaced_state_database_is_reported_in_answer_and_status(tmp_path: Path) -> None:
    root = tmp_path / "store"
    store_with_lore(root).close()
    (root / ".git" / "engram" / "state.db").write_bytes(b"not a database" * 500)
    with open_test_store(root) as engram:
        assert "start empty" in " ".join(engram.query("idempotent consumer").notes)
        assert "start empty" in json.dumps(engram.status())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux names the files of a process")
def test_a_store_that_was_closed_holds_no_file_of_its_index_open(tmp_path: Path) -> None:
    engram = store_with_lore(tmp_path / "store")
    index = tmp_path / "store" / ".git" / "engram" / "index"

    def held() -> list[str]:
        found = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
        return [name for name in found if name.startswith(f"{index.resolve()}/")]

    assert engram.query("idempotent consumer").lore
    assert held()
    engram.close()
    assert held() == []
