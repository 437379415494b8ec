"""Queries are answered while the embedding provider is slow, fails, or is changed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from endpoint_kit import LoopbackEndpoint, served
from onnx_kit import write_model
from storekit import SteadyClock, engram_command, open_test_store

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import EngramError
from engram.usecases.index import freshness, vectors
from engram.usecases.index.vectors import can_make_vectors
from engram.usecases.store import store
from engram.usecases.store.configuration import configure_own
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.app import Engram

UNCALIBRATED = "what is called strong or weak was fitted to the bundled model; with '{}' it may be off"
TOPICS = ("car", "bread", "queue", "retry", "river", "music", "winter", "paint")
NOTES = [f"The {one} number {number} is known for its {one}." for number in range(3) for one in TOPICS]


@pytest.fixture
def loopback() -> Iterator[LoopbackEndpoint]:
    with served() as endpoint:
        yield endpoint


def configure(home: Path, **embedding: object) -> None:
    file = home / ".config" / "engram" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in embedding.items())
    file.write_text(f"[embedding]\n{lines}")


def use_endpoint(home: Path, loopback: LoopbackEndpoint, **more: object) -> None:
    configure(home, provider="endpoint", url=loopback.url, model="words", **more)


def filled(root: Path, notes: list[str], clock: SteadyClock | None = None) -> Engram:
    engram = open_test_store(root, clock)
    for note in notes:
        engram.record(note, category="FACT")
    return engram


def embedding(engram: Engram) -> dict[str, object]:
    found = engram.status()["embedding"]
    assert isinstance(found, dict)
    return found


def test_an_onnx_model_finds_what_shares_no_word_with_the_question(tmp_path: Path, home: Path) -> None:
    configure(home, provider="onnx", path=str(write_model(tmp_path / "model")))
    with filled(tmp_path / "store", NOTES[:8]) as engram:
        answer = engram.query("automobile", min_confidence=0)
        assert (answer.strategy, *answer.notes) == ("hybrid", UNCALIBRATED.format("onnx"))
        assert answer.lore[0].lore.content == NOTES[0]
        state = embedding(engram)
        assert (state["provider"], state["ok"], state["dimensions"], state["waiting"]) == ("onnx", True, 8, 0)


def test_vectors_of_a_few_entries_are_made_at_once_and_of_many_in_the_background(
    tmp_path: Path, home: Path, loopback: LoopbackEndpoint
) -> None:
    use_endpoint(home, loopback)
    with filled(tmp_path / "store", NOTES) as engram:
        answer = engram.query("bread")
        assert (answer.strategy, len(answer.lore)) == ("words", 3)
        assert answer.notes[0].startswith("words only: 24 of 24 entries have no vector yet")
        assert can_make_vectors(engram.store)
        findings = [one for one in doctor(engram.store) if one.kind in ("vectors", "embedding")]
        assert [one.kind for one in findings] == ["vectors"]
        steps: list[tuple[int, int]] = []
        done = engram.make_vectors(lambda *step: steps.append(step))
        assert (done.done, done.left, done.trouble, steps) == (24, 0, "", [(24, 24)])
        answer = engram.query("loaf")
        assert (answer.strategy, *answer.notes) == ("hybrid", UNCALIBRATED.format("endpoint"))
        assert {hit.lore.content for hit in answer.lore[:3]} == {note for note in NOTES if "bread" in note}
        engram.record("One more river, and how to cross the river.", category="FACT")
        asked = len(loopback.asked)
        assert engram.query("river").strategy == "hybrid"
        assert [one.body["input"] for one in loopback.asked[asked:]] == [
            ["One more river, and how to cross the river.\n"[:-1]],
            ["river"],
        ]
        assert not [one for one in doctor(engram.store) if one.kind in ("vectors", "embedding", "index")]


def test_no_vector_is_written_while_another_process_changes_the_index(
    tmp_path: Path, home: Path, loopback: LoopbackEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_LOCK_SECONDS", 0.0)
    use_endpoint(home, loopback)
    with filled(tmp_path / "store", NOTES) as engram:
        engram.refresh()
        lock = FileLock(os.path.join(engram.store.index.folder, "writer.lock"))
        assert lock.try_acquire()
        done = engram.make_vectors()
        assert (done.done, done.left) == (0, 24)
        lock.release()
        assert engram.make_vectors().done == 24


def test_a_rebuild_requests_no_vector_twice(tmp_path: Path, home: Path, loopback: LoopbackEndpoint) -> None:
    use_endpoint(home, loopback)
    root = tmp_path / "store"
    with filled(root, NOTES) as engram:
        engram.refresh()
        engram.make_vectors()
        first = [hit.lore.content for hit in engram.query("backlog", min_confidence=0).lore]
    asked = len(loopback.asked)
    done = engram_command(root, "reindex", "--rebuild", "--json", ENGRAM_BACKGROUND="inline")
    document = json.loads(done.stdout)
    assert (document["added"], document["vectors"]) == (24, {"made": 0, "waiting": 0, "message": ""})
    assert len(loopback.asked) == asked
    with open_test_store(root) as engram:
        assert [hit.lore.content for hit in engram.query("backlog", min_confidence=0).lore] == first


def test_words_answer_and_vectors_wait_while_the_endpoint_is_down(
    tmp_path: Path, home: Path, loopback: LoopbackEndpoint
) -> None:
    use_endpoint(home, loopback)
    clock = SteadyClock()
    with filled(tmp_path / "store", NOTES[:8], clock) as engram:
        assert engram.query("automobile", min_confidence=0).strategy == "hybrid"
        generation = engram.store.index.generation
        loopback.down = True
        answer = engram.query("the river number", k=1)
        assert (answer.strategy, answer.lore[0].lore.content) == ("words", NOTES[4])
        assert "answered 503 (the model is loading)" in answer.notes[0]
        assert embedding(engram)["message"] != ""
        assert [one.kind for one in doctor(engram.store) if one.kind == "embedding"] == ["embedding"]
        engram.record("A second melody in winter.", category="FACT")
        assert engram.query("melody").lore[0].lore.content == "A second melody in winter."
        assert engram.store.index.generation is generation  # no rebuild for that
        loopback.down = False
        clock.ahead += store.ASIDE_NS + 1
        assert engram.make_vectors().done == 1
        answer = engram.query("automobile", min_confidence=0)
        assert (answer.strategy, *answer.notes) == ("hybrid", UNCALIBRATED.format("endpoint"))
        assert embedding(engram)["message"] == ""


def test_words_answer_until_a_missing_endpoint_appears(
    tmp_path: Path, home: Path, loopback: LoopbackEndpoint
) -> None:
    use_endpoint(home, loopback)
    loopback.down = True
    clock = SteadyClock()
    with filled(tmp_path / "store", NOTES[:8], clock) as engram:
        answer = engram.query("river")
        assert (answer.strategy, len(answer.notes), len(answer.lore)) == ("words", 1, 1)
        loopback.down = False
        clock.ahead += store.ASIDE_NS + 1
        answer = engram.query("automobile", min_confidence=0)
        assert (answer.strategy, *answer.notes, answer.lore[0].lore.content) == (
            "hybrid",
            UNCALIBRATED.format("endpoint"),
            NOTES[0],
        )


def test_a_large_store_answers_by_words_after_a_switch(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 10)
    root = tmp_path / "store"
    with filled(root, NOTES) as engram:
        assert engram.query("bread").strategy == "hybrid"
    configure(home, provider="onnx", path=str(write_model(tmp_path / "model")))
    with open_test_store(root) as engram:
        answer = engram.query("bread")
        assert (answer.strategy, len(answer.lore)) == ("words", 3)
        assert "made anew in the background" in answer.notes[0]
        assert engram.record("The queue is empty in winter.", category="FACT").path
        assert engram.query("empty queue").lore[0].lore.content == "The queue is empty in winter."
    assert engram_command(root, "reindex", ENGRAM_BACKGROUND="inline").returncode == 0
    with open_test_store(root) as engram:
        answer = engram.query("loaf", k=10)
        assert (answer.strategy, *answer.notes) == ("hybrid", UNCALIBRATED.format("onnx"))
        assert {hit.lore.content for hit in answer.lore} >= {note for note in NOTES if "bread" in note}
    configure(home)
    with open_test_store(root) as engram:
        engram.refresh()
        assert engram.query("bread").strategy == "hybrid"


def test_a_switch_in_a_running_program_takes_effect_at_once(tmp_path: Path) -> None:
    with filled(tmp_path / "store", NOTES[:8]) as engram:
        assert engram.query("bread").strategy == "hybrid"
        configure_own(engram.store, "embedding.path", str(write_model(tmp_path / "model")))
        configure_own(engram.store, "embedding.provider", "onnx")
        answer = engram.query("loaf", min_confidence=0)
        assert (answer.strategy, answer.lore[0].lore.content) == ("hybrid", NOTES[1])
        assert embedding(engram)["provider"] == "onnx"


def test_two_programs_with_different_models_do_not_undo_each_others_index(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "store"
    with filled(root, NOTES[:8]) as first:
        assert first.query("bread").strategy == "hybrid"
        configure(home, provider="onnx", path=str(write_model(tmp_path / "model")))
        with open_test_store(root, session="other") as second:
            assert second.query("loaf", min_confidence=0).strategy == "hybrid"
            generation = second.store.index.generation
            answer = first.query("bread")
            assert (answer.strategy, len(answer.lore)) == ("words", 1)
            first.record("A note about winter.", category="FACT")
            assert first.query("winter").lore
            assert second.query("winter").lore
            assert second.store.index.generation is generation


def test_a_pulled_file_sends_no_lore_anywhere(tmp_path: Path, home: Path, loopback: LoopbackEndpoint) -> None:
    """Not to an address of its own, and not to the person's endpoint unless the person chose that provider."""
    root = tmp_path / "store"
    open_test_store(root).close()
    with open(root / ".engram.toml", "a") as file:
        file.write(
            f'[embedding]\nprovider = "endpoint"\nurl = "{loopback.url}"\nmodel = "words"\nkey = "k"\n'
        )
    for own in ({}, {"url": loopback.url, "model": "words"}):
        configure(home, **own)
        with filled(root, NOTES[:2]) as engram:
            assert engram.query("bread").strategy == "hybrid"
            engram.make_vectors()
            assert embedding(engram)["provider"] == "bundled"
    assert loopback.asked == []
    done = engram_command(root, "config", "embedding.provider", "endpoint")
    assert done.returncode == 2
    assert "is read only from your own configuration file" in done.stderr.decode()


def test_the_key_is_sent_and_never_shown(
    tmp_path: Path, home: Path, loopback: LoopbackEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_endpoint(home, loopback)
    root = tmp_path / "store"
    with filled(root, NOTES[:2]) as engram:
        assert configure_own(engram.store, "embedding.key", "key-of-the-file") == "(set, not shown)"
        engram.query("bread")
        assert {one.key for one in loopback.asked[-2:]} == {"Bearer key-of-the-file"}
        shown = {one.key.name: one.value for one in engram.configuration()}
        assert shown["embedding.key"] == "(set, not shown)"
    file = home / ".config" / "engram" / "config.toml"
    assert os.stat(file).st_mode & 0o777 == 0o600
    for command in (("config",), ("config", "--json"), ("config", "embedding.key"), ("status", "--json")):
        done = engram_command(root, *command)
        assert done.returncode == 0
        assert "key-of-the-file" not in (done.stdout + done.stderr).decode()
    monkeypatch.setenv("ENGRAM_EMBEDDING_KEY", "key-of-the-environment")
    with open_test_store(root) as engram:
        engram.record("A new loaf.", category="FACT")
        engram.query("paint")
        assert loopback.asked[-1].key == "Bearer key-of-the-environment"


def test_an_invalid_setting_is_reported_in_the_answer(tmp_path: Path, home: Path) -> None:
    configure(home, provider="endpoint", url="http://models.example.com/v1", model="words")
    with filled(tmp_path / "store", NOTES[:2]) as engram:
        answer = engram.query("bread")
        assert (answer.strategy, len(answer.lore)) == ("words", 1)
        assert "unencrypted" in answer.notes[0]
        with pytest.raises(EngramError):
            configure_own(engram.store, "embedding.provider", "hub")
