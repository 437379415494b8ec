"""Adopting files that people put into the folder: they get fields, and their text keeps every byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import TIDES, open_test_store

from engram.domain.errors import NotFoundError
from engram.usecases.recording.adopt import adopt

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


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
def test_adopting_adds_fields_and_keeps_every_byte_of_the_text(
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


def test_only_named_files_are_adopted_and_a_wrong_name_is_an_error(store: Engram, tmp_path: Path) -> None:
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


def test_feedback_on_a_file_without_fields_adds_them(store: Engram, tmp_path: Path) -> None:
    path = tmp_path / "lore" / "note.md"
    path.parent.mkdir()
    path.write_text(TIDES, "utf-8")
    ref = store.query("tide tables").lore[0]
    (judged,) = store.feedback(helpful=ref.ref)
    assert (judged.id, judged.current) == (ref.lore.id, 0.78)
    assert path.read_text("utf-8").endswith(TIDES)
    assert store.get(ref.lore.id).lore.confidence == 0.78
