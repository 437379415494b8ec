"""Looking at, listing, editing, forgetting and adopting lore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, SECRET, TIDES, SetClock, everything_on_disk, lore_files, opened

from engram.domain.errors import (
    ConflictError,
    EngramError,
    NotFoundError,
    SecretFoundError,
    UsageError,
    ValidationError,
)
from engram.usecases.recording.adopt import adopt
from engram.usecases.recording.edit import Edit, rewrite

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return opened(tmp_path)


def listed(store: Engram, **options: object) -> list[str]:
    return [shown.lore.title for shown in store.list(**options).lore]  # type: ignore[arg-type]


def test_a_list_sorts_filters_limits_and_counts(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as store:
        ids = {}
        for title, category, confidence, status, tags in (
            ("beta", "FACT", 0.9, "active", ["x"]),
            ("Alpha", "WORKFLOW", 0.3, "pending", ["x", "y"]),
            ("gamma", "FACT", 0.6, "archived", []),
        ):
            clock.advance(hours=1)
            done = store.record(title, category=category, confidence=confidence, status=status, tags=tags)
            ids[title] = done.lore.id
        clock.advance(hours=1)
        store.feedback(helpful=ids["Alpha"])
        assert listed(store, sort="updated") == ["gamma", "Alpha", "beta"], "judging is no edit"
        store.edit(ids["Alpha"], Edit(files=("a.py",)))
        assert listed(store) == ["gamma", "Alpha", "beta"]
        assert listed(store, sort="updated") == ["Alpha", "gamma", "beta"]
        assert listed(store, sort="confidence") == ["beta", "gamma", "Alpha"]
        assert listed(store, sort="helpful") == ["Alpha", "beta", "gamma"]
        assert listed(store, sort="title") == ["Alpha", "beta", "gamma"]
        assert listed(store, sort="category") == ["beta", "gamma", "Alpha"]
        assert listed(store, categories="fact") == ["gamma", "beta"]
        assert listed(store, categories=["fact", "workflow"], status="pending") == ["Alpha"]
        assert listed(store, tags="x") == ["Alpha", "beta"]
        assert listed(store, tags=["x", "y"]) == ["Alpha"]
        assert listed(store, limit=2) == ["gamma", "Alpha"]
        assert (listed(store, limit=0), store.list(limit=0).total) == ([], 3)
        assert store.list(limit=1, categories="fact").total == 2
        assert len(listed(store, limit=None)) == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"sort": "magic"}, UsageError),
        ({"limit": -1}, UsageError),
        ({"status": "asleep"}, UsageError),
        ({"categories": "nonsense"}, ValidationError),
        ({"tags": "\ud800"}, ValidationError),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(
    store: Engram, options: dict[str, object], error: type[EngramError]
) -> None:
    store.record(QUEUE, category="FACT")
    with pytest.raises(error) as caught:
        store.list(**options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2


def test_an_unreadable_file_is_left_out_of_the_list_and_stops_nothing(store: Engram, tmp_path: Path) -> None:
    store.record(QUEUE, category="FACT")
    bad = tmp_path / "lore" / "bad.md"
    bad.write_bytes(b"---\nid: [\n---\ntext\n")
    assert (listed(store), store.list().total) == ([QUEUE.rstrip(".") + "."], 1)
    assert store.query("queue consumer").lore
    assert bad.read_bytes() == b"---\nid: [\n---\ntext\n"


def test_each_field_can_be_edited_and_the_rest_stays(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as store:
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


def test_what_a_person_wrote_into_the_file_survives_an_edit(store: Engram, tmp_path: Path) -> None:
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


def test_forgotten_lore_is_gone_from_everything(store: Engram, tmp_path: Path) -> None:
    ids = [store.record(text, category="FACT").lore.id for text in (QUEUE, COLOUR, TIDES)]
    gone = store.forget(ids[0], ids[1], ids[0])
    assert [shown.lore.id for shown in gone] == ids[:2]
    assert [shown.lore.id for shown in store.list().lore] == ids[2:]
    assert len(lore_files(tmp_path)) == 1
    assert store.query("queue consumer").lore == ()
    with pytest.raises(NotFoundError):
        store.get(ids[0])


def test_forgetting_resolves_every_name_first(store: Engram, tmp_path: Path) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    with pytest.raises(NotFoundError):
        store.forget(lore_id, "L99")
    assert len(lore_files(tmp_path)) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"Tides.\n",
        b"no newline at the end",
        b"\n\n  \nblank lines first\n\n\n",
        b"windows\r\nline ends\r\n",
        b"\xef\xbb\xbfwith a mark\n",
        b"---\ntitle: Obsidian note\ntags: [a, b]\n---\n\n# Head\n\ntext  \n",
        "ünïcode 🜁\ttab\n".encode(),
    ],
)
def test_adopting_gives_fields_and_keeps_every_byte_of_the_text(
    store: Engram, tmp_path: Path, body: bytes
) -> None:
    path = tmp_path / "lore" / "dropped" / "note.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(body)
    (before,) = store.list().lore
    (done,) = adopt(store.store, category="workflow")
    raw = path.read_bytes()
    text = body.removeprefix(b"\xef\xbb\xbf").rpartition(b"---\n")[2] if b"title:" in body else body
    assert raw.endswith(text.removeprefix(b"\xef\xbb\xbf"))
    assert raw.startswith(b"\xef\xbb\xbf") == body.startswith(b"\xef\xbb\xbf")
    assert b"title: Obsidian note" in raw or b"title" not in body
    lore = store.get(done.lore.id).lore
    assert (lore.id, lore.content) == (before.lore.id, before.lore.content)
    assert (lore.category, lore.type, lore.agent) == ("WORKFLOW", "procedural", "tester")
    assert lore.source_id == store.store.source_id
    assert adopt(store.store) == [], "once is enough"
    assert path.read_bytes() == raw


def test_only_named_files_are_adopted_and_a_wrong_name_is_told(store: Engram, tmp_path: Path) -> None:
    folder = tmp_path / "lore"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"Note {name}", "utf-8")
    (done,) = adopt(store.store, ["lore/a.md", "lore/a.md"])
    assert done.path == "lore/a.md"
    assert (folder / "b.md").read_text("utf-8") == "Note b"
    for wrong in ("lore/a.md", "lore/c.md", "../x.md", "/etc/passwd"):
        with pytest.raises(NotFoundError):
            adopt(store.store, [wrong])


def test_reading_never_writes_into_a_file_without_fields(store: Engram, tmp_path: Path) -> None:
    path = tmp_path / "lore" / "note.md"
    path.parent.mkdir()
    path.write_text(TIDES, "utf-8")
    assert store.query("tide tables").lore[0].lore.content == TIDES
    store.list()
    store.status()
    store.feedback(not_relevant="L1")
    assert path.read_text("utf-8") == TIDES


def test_feedback_on_a_file_without_fields_gives_them(store: Engram, tmp_path: Path) -> None:
    path = tmp_path / "lore" / "note.md"
    path.parent.mkdir()
    path.write_text(TIDES, "utf-8")
    ref = store.query("tide tables").lore[0]
    (judged,) = store.feedback(helpful=ref.ref)
    assert (judged.id, judged.current) == (ref.lore.id, 0.78)
    assert path.read_text("utf-8").endswith(TIDES)
    assert store.get(ref.lore.id).lore.confidence == 0.78


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities", "agent"])
def test_a_secret_in_any_field_is_refused_and_reaches_no_disk(tmp_path: Path, field: str) -> None:
    values: dict[str, object] = {"content": QUEUE, field: f"my {SECRET}"}
    with opened(tmp_path) as store:
        with pytest.raises(SecretFoundError) as caught:
            store.record(category="FACT", **values)  # type: ignore[arg-type]
        assert SECRET not in str(caught.value.as_dict())
        assert field in caught.value.message
        assert store.list().total == 0
    assert SECRET.encode() not in everything_on_disk(tmp_path)


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities", "agent"])
def test_redacting_masks_the_secret_and_keeps_the_rest(tmp_path: Path, field: str) -> None:
    values: dict[str, object] = {"content": QUEUE, field: f"my {SECRET}"}
    with opened(tmp_path) as store:
        done = store.record(category="FACT", redact=True, **values)  # type: ignore[arg-type]
        assert done.redacted == 1
        assert "my " in str(getattr(store.get(done.lore.id).lore, field))
    assert SECRET.encode() not in everything_on_disk(tmp_path)


def test_a_false_alarm_can_be_allowed(tmp_path: Path) -> None:
    with opened(tmp_path, settings=f'[secrets]\nallow = ["{SECRET}"]\n') as store:
        done = store.record(f"An example looks like {SECRET}", category="FACT")
        assert (done.redacted, store.query("example looks like").lore[0].lore.id) == (0, done.lore.id)
