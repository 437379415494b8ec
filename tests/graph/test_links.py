"""Links of an entry in both directions, the queries that showed it, and its versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from prepared import dedicated

import engram
from engram.domain.errors import NotFoundError
from engram.usecases.recording.edit import Edit


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])
def test_links_show_both_directions_and_deleted_targets(tmp_path: Path, in_git: bool) -> None:
    if in_git:
        dedicated(tmp_path / "s")
    else:
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / ".engram.toml").write_text('[store]\nfolder = "lore"\n', "utf-8")
    with engram.open(tmp_path / "s", session="t") as store:
        first = store.record("The first one of them.", category="FACT").lore
        second = store.record("Quite another one.", category="FACT", relations=[("refines", first.id)]).lore
        assert [(one.kind, one.id, one.title, one.back) for one in store.links(second.id)] == [
            ("refines", first.id, first.title, False)
        ]
        assert [(one.kind, one.id, one.back) for one in store.links(first.id)] == [
            ("refines", second.id, True)
        ]
        store.forget(first.id)
        assert [one.title for one in store.links(second.id)] == [""]


@pytest.mark.slow
def test_a_link_is_found_while_its_entry_is_being_committed(tmp_path: Path) -> None:
    with engram.open(dedicated(tmp_path / "s"), session="t") as store:
        for number in range(30):
            one = store.record(f"The first of the {number}th pair.", category="FACT").lore.id
            store.record(f"Number {number}, other.", category="FACT", relations=[("refines", one)])
            seen = [[(link.kind, link.back) for link in store.links(one)] for _ in range(6)]
            assert seen == [[("refines", True)]] * 6, number


def test_queries_and_versions_of_an_entry(tmp_path: Path) -> None:
    with engram.open(dedicated(tmp_path / "s"), session="t") as store:
        lore = store.record("Money is stored as integer cents.", category="FACT").lore
        store.query("money as cents")
        store.query("money as cents", keep=False)
        [asked] = store.surfaced(lore.id)
        assert (asked.query, asked.rank, asked.session) == ("money as cents", 1, "t")
        store.edit(lore.id, Edit(content="Money is stored as whole cents."))
        events = store.history(lore.id)
        assert store.version(lore.id, events[-1].commit).content == lore.content
        assert "whole" in store.version(lore.id, events[0].commit).content
        with pytest.raises(NotFoundError):
            store.version(lore.id, f"{events[-1].commit}^")
