"""The indexed parts of a note: names, tags and links besides its text, in place or if it has aliases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gitkit import isolate
from storekit import open_test_store

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.note_markup import NoteMarkup
from engram.usecases.index.note_text import indexed_text, markup_of
from tests.opening.vault_kit import vault

if TYPE_CHECKING:
    import pytest


def test_only_names_missing_from_the_text_are_added(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as engram:
        lore = engram.record("Larch lasts.", category="FACT").lore
    plain = indexed_text(lore, None)
    assert (
        indexed_text(lore, NoteMarkup(("Larch", "Tamarack", "Hackmatack")))
        == f"{plain}\nTamarack\nHackmatack"
    )


def test_a_note_has_markup_in_place_and_elsewhere_if_it_has_aliases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    notes = {
        "plain": b'---\nup: "[[Ada]]"\n---\nSee [[Bob]].\n',
        "named": b"---\naliases: [Ada]\n---\nText\n",
    }
    with vault(tmp_path / "v", {}) as in_place, open_test_store(tmp_path / "store") as dedicated:
        for store in (in_place.store, dedicated.store):
            for name, raw in notes.items():
                file = codec.read(raw, f"{name}.md", store.categories, store.clock.now())
                markup = markup_of(store, f"{name}.md", file)
                if store is dedicated.store and name == "plain":
                    assert markup is None
                else:
                    links = ("ada", "bob") if name == "plain" else ()
                    names = ("plain",) if name == "plain" else ("named", "Ada")
                    assert markup is not None
                    assert (markup.names, tuple(link.casefold() for link in markup.links)) == (names, links)
