"""Retention: what is older than its scope keeps is not recalled any more, stays where it is, and is shown as such."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, SetClock, make_plain_store, ok, open_test_store
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.scopes import Scope, past_retention
from engram.usecases.placement.manage_scopes import list_scopes

DAY = 86_400.0


@pytest.fixture
def ten_days(home: Path) -> None:
    """A person who recalls nothing of a project that is older than ten days."""
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[scopes.project]\nretention_days = 10\n", "utf-8")


@pytest.mark.usefixtures("ten_days")
@pytest.mark.parametrize("strategy", ["hybrid", "words", "scan"])
def test_lore_past_its_retention_is_not_recalled_and_nothing_is_deleted(
    tmp_path: Path, strategy: str
) -> None:
    clock = SetClock()
    store = open_test_store(tmp_path / "p", clock=clock)
    texts = {name: f"{QUEUE} Case {name}." for name in ("old", "pinned", "helpful", "new")}
    ids = {
        name: store.record(texts[name], category="FACT", pinned=name == "pinned").lore.id
        for name in texts
        if name != "new"
    }
    clock.advance(days=6)
    store.feedback(helpful=ids["helpful"])
    clock.advance(days=5)
    ids["new"] = store.record(texts["new"], category="FACT").lore.id
    found = {hit.lore.id for hit in store.query("queue consumer", strategy=strategy, k=9).lore}
    assert found == {ids["pinned"], ids["helpful"], ids["new"]}
    assert store.list().total == 4
    assert store.get(ids["old"]).lore.id == ids["old"]
    clock.advance(days=8)
    found = {hit.lore.id for hit in store.query("queue consumer", strategy=strategy, k=9).lore}
    assert found == {ids["pinned"], ids["new"]}
    project = next(row for row in list_scopes(store.store) if row.name == "project")
    assert (project.lore_count, project.past_retention, project.retention_days) == (4, 2, 10)
    store.close()


def test_lore_is_recalled_for_ever_without_a_setting(tmp_path: Path) -> None:
    clock = SetClock()
    store = open_test_store(tmp_path / "p", clock=clock)
    store.record(QUEUE, category="WORKFLOW")  # no fact, whose confidence fades
    clock.advance(days=20_000)
    assert len(store.query("queue consumer").lore) == 1
    store.close()


def test_each_scope_has_its_own_days(tmp_path: Path, home: Path) -> None:
    project = make_plain_store(tmp_path / "p")
    ok("config", "scopes.user.retention_days", "1", "--user", cwd=project)
    old = (
        "---\nid: 01KJPY44E039MMV97SZGY6V9E{}\ncategory: WORKFLOW\ncreated_at: 2020-03-02T09:30:00Z\n---\n\n"
        + QUEUE
        + "\n"
    )
    (project / "lore").mkdir()
    (project / "lore/old.md").write_text(old.format("Q"), "utf-8")
    ok("record", "Unrelated", "-c", "fact", "--scope", "user", cwd=project)
    own = home / ".local/share/engram/store"
    (own / "lore/old.md").write_text(old.format("R"), "utf-8")
    answer = ok("query", "queue consumer", "--json", cwd=project).json
    assert [hit["scope"] for hit in answer["lore"]] == ["project"]
    rows = ok("list", "--scope", "user", "--json", cwd=project).json["lore"]
    assert {row["title"]: row["past_retention"] for row in rows} == {QUEUE: True, "Unrelated": False}
    assert f"(past retention) {QUEUE}"[:40] in ok("list", "--scope", "user", cwd=project).out
    assert "1 entry is past retention" in ok("status", "--scope", "user", cwd=project).out
    scopes = {row["name"]: row for row in ok("status", "--json", cwd=project).json["scopes"]}
    assert (scopes["user"]["past_retention"], scopes["project"]["past_retention"]) == (1, 0)


@given(
    st.floats(0, 4e9), st.none() | st.floats(0, 4e9), st.booleans(), st.integers(0, 36_500), st.floats(0, 4e9)
)
def test_the_rule(created: float, validated: float | None, pinned: bool, days: int, now: float) -> None:
    horizon = Scope("user", 1.0, days).horizon(now)
    past = past_retention(created, validated, pinned, horizon)
    kept = (
        pinned
        or days == 0
        or now - created <= days * DAY
        or (validated is not None and now - validated <= days * DAY)
    )
    assert past is not kept
