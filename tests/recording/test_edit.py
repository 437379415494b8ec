"""Editing entries: the named fields change, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, SECRET, TIDES, SetClock, lore_files, open_test_store

import engram
from engram.domain.errors import ConflictError, EngramError, SecretFoundError, UsageError, ValidationError
from engram.usecases.recording.edit import Edit, rewrite

if TYPE_CHECKING:
    from engram.app import Engram


def test_edit_is_a_name_of_the_package_and_still_at_its_earlier_path() -> None:
    from engram.usecases import edit as earlier_path
    from engram.usecases.recording.edit import Edit

    assert engram.Edit is Edit
    assert earlier_path.Edit is Edit


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


def test_each_field_can_be_edited_and_the_rest_stays(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        first = store.record(QUEUE, category="FACT", tags=["a", "b"], files=["x.py"], context="once").lore
        store.feedback(helpful=first.id)
        clock.advance(hours=1)
        wanted = Edit(
            content="New words",
            category="workflow",
            context=("here", "there"),
            confidence=0.9,
            status="archived",
            add_tags=("c", "a"),
            remove_tags=("b",),
            files=("y.py",),
            pinned=True,
        )
        store.edit(first.id, wanted)
        lore = store.get(first.id).lore
        assert (lore.content, lore.category, lore.type) == ("New words", "WORKFLOW", "procedural")
        assert (lore.context, lore.tags, lore.files) == (("here", "there"), ("a", "c"), ("y.py",))
        assert (lore.prior, lore.confidence, lore.validation_count) == (900, 0.98, 1)
        assert (lore.status, lore.pinned) == ("archived", True)
        assert (lore.created_at, lore.updated_at) == (first.created_at, clock.moment)
        assert (lore.id, lore.agent, lore.source_id) == (first.id, first.agent, first.source_id)
        assert len(lore_files(tmp_path)) == 1
        store.edit(first.id, Edit(pinned=False))
        assert not store.get(first.id).lore.pinned
        store.feedback(incorrect=first.id)
        assert store.get(first.id).lore.confidence == 0.83


def test_an_edit_keeps_windows_line_ends_out_of_the_content(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    assert store.edit(lore_id, Edit(content="one\r\ntwo\r\n")).lore.content == "one\ntwo"


def test_a_type_that_was_chosen_survives_a_change_of_category(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT", type="episodic").lore.id
    assert store.edit(lore_id, Edit(category="workflow")).lore.type == "episodic"


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (Edit(), UsageError),
        (Edit(content="x" * 4001), ValidationError),
        (Edit(content=" "), ValidationError),
        (Edit(content="a\0b"), ValidationError),
        (Edit(category="nonsense"), ValidationError),
        (Edit(category=""), ValidationError),
        (Edit(status="asleep"), ValidationError),
        (Edit(status=""), ValidationError),
        (Edit(confidence=1.1), ValidationError),
        (Edit(add_tags=("",)), ValidationError),
        (Edit(files=("\ud800",)), ValidationError),
        (Edit(content=f"token {SECRET}"), SecretFoundError),
        (Edit(context=(SECRET,)), SecretFoundError),
        (Edit(add_tags=(SECRET,)), SecretFoundError),
        (Edit(files=(SECRET,)), SecretFoundError),
    ],
)
def test_an_edit_that_breaks_a_rule_changes_no_byte(
    store: Engram, tmp_path: Path, wanted: Edit, error: type[EngramError]
) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    before = lore_files(tmp_path)[0].read_bytes()
    with pytest.raises(error) as caught:
        store.edit(lore_id, wanted)
    assert caught.value.exit_code == 2
    assert lore_files(tmp_path)[0].read_bytes() == before


def test_text_that_a_person_added_to_the_file_survives_an_edit(store: Engram, tmp_path: Path) -> None:
    path = tmp_path / store.record(QUEUE, category="FACT").path
    text = path.read_text("utf-8").replace("category: FACT", "category: FACT  # sure?\nreviewer: Ada")
    path.write_text(text, "utf-8")
    store.edit(store.list().lore[0].lore.id, Edit(add_tags=("new",)))
    after = path.read_text("utf-8")
    assert {"category: FACT  # sure?", "reviewer: Ada", "tags: [new]"} <= set(after.splitlines())


def rewritten(store: Engram, path: Path, old: str, new: str) -> object:
    shown = store.list().lore[0]
    before = path.read_bytes()
    return rewrite(store.store, shown.path, shown.lore.id, before, before.replace(old.encode(), new.encode()))


def test_a_whole_file_can_be_rewritten_but_its_id_stays(store: Engram, tmp_path: Path) -> None:
    done = store.record(QUEUE, category="FACT")
    path = tmp_path / done.path
    rewritten(store, path, QUEUE, TIDES)
    assert store.get(done.lore.id).lore.content == TIDES
    before = path.read_bytes()
    for new in (f"id: {done.lore.id[:-1]}Z", "", "id:"):
        with pytest.raises(ValidationError, match="id") as caught:
            rewritten(store, path, f"id: {done.lore.id}", new)
        assert done.lore.id in caught.value.hint
        assert path.read_bytes() == before
    with pytest.raises(SecretFoundError):
        rewritten(store, path, TIDES, SECRET)
    shown = store.list().lore[0]
    with pytest.raises(ConflictError):
        rewrite(store.store, shown.path, shown.lore.id, b"what it was", before)
    assert path.read_bytes() == before


def test_rewriting_a_file_that_has_no_id_yet_keeps_the_id_it_was_shown_with(
    store: Engram, tmp_path: Path
) -> None:
    (tmp_path / "lore").mkdir(exist_ok=True)
    path = tmp_path / "lore" / "note.md"
    path.write_text(TIDES, "utf-8")
    shown = store.list().lore[0]
    rewritten(store, path, TIDES, COLOUR)
    assert [(one.lore.id, one.lore.content) for one in store.list().lore] == [(shown.lore.id, COLOUR)]
