"""Imports of texts that a store already has in other words, or in an earlier version of a section."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import import_path, lore_of, open_test_store

from tests.exchange.import_kit import PLACES

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


def test_a_text_known_in_other_words_is_not_imported(store: Engram, tmp_path: Path) -> None:
    store.record("The staging database is reset each Monday at 06:00.", category="fact")
    store.refresh()
    file = tmp_path / "memories.json"
    file.write_text('[{"memory": "The staging database is reset each Monday, at 06:00", "user_id": "dev"}]')
    (seen,) = import_path(store, file).seen
    assert (seen.verdict, store.list().total) == ("alike", 1)
    file.write_text('[{"memory": "The staging database is reset each Monday at 07:00.", "user_id": "dev"}]')
    assert import_path(store, file).imported == 1


def test_a_changed_section_supersedes_its_earlier_version(store: Engram, tmp_path: Path) -> None:
    rules = tmp_path / "CLAUDE.md"
    text = PLACES["rules"].read_text("utf-8")
    text = text.replace("## Releases", "Each service has an owner. " * 150 + "\n\n## Releases")
    rules.write_text(text)
    import_path(store, rules)
    before = lore_of(store)
    rules.write_text(text.replace("cut on Tuesdays", "cut on Wednesdays"))
    (looked,) = import_path(store, rules, dry_run=True).seen
    assert (looked.verdict, looked.twin) == ("changed", before["Shop: Releases"].id)
    done = import_path(store, rules)
    assert (done.imported, done.superseded) == (1, (before["Shop: Releases"].id,))
    by_status = {status: store.list(status=status).lore for status in ("active", "superseded")}
    (old,) = by_status["superseded"]
    assert (
        old.lore._replace(status="active", updated_at=before["Shop: Releases"].updated_at)
        == before["Shop: Releases"]
    )
    new = {one.lore.title: one.lore for one in by_status["active"]}
    assert new["Shop"] == before["Shop"]
    assert "Wednesdays" in new["Shop: Releases"].content
    assert {(one.kind, one.id) for one in new["Shop: Releases"].relations} == {
        ("see_also", before["Shop"].id), ("supersedes", old.lore.id)
    }  # fmt: skip
    assert import_path(store, rules).imported == 0
    rules.write_text(text)  # put back
    assert import_path(store, rules).superseded == (new["Shop: Releases"].id,)
    assert import_path(store, rules).imported == 0
    assert (
        "Tuesdays"
        in {one.lore.title: one.lore for one in store.list(status="active").lore}["Shop: Releases"].content
    )


def test_sections_with_equal_headings_are_distinguished_and_other_files_unchanged(
    store: Engram, tmp_path: Path
) -> None:
    def text(*subjects: str) -> str:
        said = [f"They run against the {subject} database each night. " * 45 for subject in subjects]
        return "# A\n\nAbout it.\n\n" + "".join(f"## Tests\n\n{one}\n\n" for one in said)

    rules = tmp_path / "CLAUDE.md"
    rules.write_text(text("real", "small", "fast"))
    import_path(store, rules)
    before = lore_of(store)
    rules.write_text(text("real", "small", "slow"))
    assert import_path(store, rules).superseded == (before["A: Tests (2)"].id,)
    other = tmp_path / "AGENTS.md"
    other.write_text(text("real", "empty", "old"))
    assert import_path(store, other).superseded == ()
