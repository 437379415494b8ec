"""Arguments that say where lore belongs, or who may read it, are honoured or refused under every alias."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import make_plain_store, open_test_store
from effort import sampled
from gitkit import git
from mcp_kit import connect_inside, ok, refused, text

from engram.domain.errors import EngramError
from engram.mcp.tools import COMPAT
from engram.mcp.tools.compat import rows_of
from engram.mcp.tools.scope_arguments import FILTERS, OWNER, PROJECT, SCOPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.mcp.tools.aliases import Alias

SECRETIVE = "Salaries are discussed on Fridays."
ROWS = rows_of()
# Everything that another memory keeps lore apart by. Of `session_id` only reading does: elsewhere it says where it is from.
APART = {"scope", "scopeId", "namespace", "project", "project_id", "workspace", "user_id", "agent_id", "agentId", "app_id",
         "run_id", "filters"}  # fmt: skip
VALUES: Mapping[str, Any] = {
    SCOPE: "private-cammy", PROJECT: "somebody-elses", OWNER: "alex", FILTERS: {"AND": [{"user_id": "alex"}]}
}  # fmt: skip
# What a call needs besides; values that are looked at only after the place is.
NEEDED: Mapping[str, Any] = {
    "content": SECRETIVE, "text": SECRETIVE, "observation": SECRETIVE, "query": "salaries", "topic": "salaries", "id": "x",
    "memory_id": "x", "memory_ids": ["x"], "identifier": "x",
}  # fmt: skip


def arguments(row: Alias) -> dict[str, Any]:
    return {name: NEEDED[name] for name in row.shown if name in NEEDED}


def contents(root: Path) -> list[str]:
    with open_test_store(root) as engram:
        return [one.lore.content for one in engram.list().lore]


def own_store(home: Path) -> Path:
    return home / ".local/share/engram/store"


def test_no_scoping_argument_is_silently_ignored() -> None:
    for row in ROWS:
        passed = {*row.unused} - row.scoping.keys()
        assert not passed & APART, row.name


async def test_an_unknown_scope_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        for row in ROWS:
            for name, kind in row.scoping.items():
                said = await refused(client, row.name, **arguments(row), **{name: VALUES[kind]})
                assert said.startswith(f"{row.name} did nothing: ")
                assert f"Leave {name} out" in said, row.name
    assert contents(root) == []


@sampled("row", [row for row in ROWS if row.tool == "compat_record"], 2, ids=lambda row: row.name)
async def test_what_is_recorded_in_the_users_scope_is_in_no_other_store(
    row: Alias, tmp_path: Path, home: Path
) -> None:
    root = make_plain_store(tmp_path / "store")
    name = next((name for name, kind in row.scoping.items() if kind == SCOPE), "scope")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        done = await client.call_tool(row.name, {**arguments(row), name: "user"})
        assert not done.is_error, text(done)
        assert done.structured_content["scope"] == "user"
        assert " user: lore/" in text(done)
    assert contents(root) == []
    assert not [path for path in root.rglob("*.md") if SECRETIVE in path.read_text()]
    (own,) = contents(own_store(home))
    assert SECRETIVE in own
    assert SECRETIVE in git(own_store(home), "log", "-p")


async def test_notes_go_to_the_store_that_their_scope_names(tmp_path: Path, home: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=("core", COMPAT)) as client:
        await ok(client, "mem_save", content="I prefer tabs.", scope="personal")
        await ok(client, "store_memory", content="The port is 4711 for now.", scope="session")
        await ok(client, "store_memory", content="Port numbers are in ports.toml.", scope="project")
        found = {}
        for scope in ("project", "session", "user", "all"):
            data = await ok(client, "recall_memories", query="port number tabs", scope=scope)
            found[scope] = {one["text"] for one in data["lore"]}
        listed = await ok(client, "mem_context", scope="personal")
    assert contents(root) == ["Port numbers are in ports.toml."]
    assert contents(own_store(home)) == ["I prefer tabs."]
    assert found["project"] == {"Port numbers are in ports.toml."}
    assert found["session"] == {"The port is 4711 for now."}
    assert found["user"] <= {"I prefer tabs."}
    assert {"Port numbers are in ports.toml.", "The port is 4711 for now."} <= found["all"]
    assert [one["content"] for one in listed["lore"]] == ["I prefer tabs."]


async def test_an_observation_for_the_user_waits_in_the_users_store(tmp_path: Path, home: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        await ok(client, "memory_observe", observation=SECRETIVE, scopeId="user")
    with open_test_store(root) as engram:
        assert engram.observe("Something else.", scope="project").waiting == 1
        assert engram.observe("Something else.", scope="user").waiting == 2


@pytest.mark.parametrize("value", ["", "default", "project", None])
async def test_default_scopes_mean_the_current_store(value: Any, tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "shop")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        data = await ok(client, "store_memory", content="Staging is reset on Sundays.", scope=value)
        assert "not_used" not in data
        await ok(client, "recall_memories", query="staging", scope=value)
    assert contents(root) == ["Staging is reset on Sundays."]


async def test_all_is_a_valid_scope_for_reading_but_not_for_writing(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        for name, kind in (("user_id", "*"), ("agent_id", "all")):
            assert "did nothing" in await refused(client, "add_memory", text=SECRETIVE, **{name: kind})
            await ok(client, "search_memories", query="salaries", **{name: kind})
    assert contents(root) == []


async def test_only_the_name_of_this_project_is_accepted(tmp_path: Path) -> None:
    repository = tmp_path / "Web Shop"
    repository.mkdir()
    git(repository, "init", "-q")
    root = make_plain_store(repository / "notes")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        await ok(client, "mem_save", content="The cookie lacked SameSite.", project="web-shop")
        said = await refused(client, "mem_save", content=SECRETIVE, project="payroll")
    assert "this memory is not that of 'payroll'" in said
    assert contents(root) == ["The cookie lacked SameSite."]


async def test_filters_are_ignored_and_reported_unless_they_name_an_owner(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        data = await ok(client, "search_memories", query="x", filters={"created_at": {"gte": "2026-01-01"}})
        assert data["not_used"] == ["filters"]
        for filters in ({"user_id": "a"}, {"OR": [{"AND": [{"run_id": {"in": ["a"]}}]}]}):
            assert "filters" in await refused(client, "search_memories", query="x", filters=filters)


@pytest.mark.parametrize("metadata", [{"private": True}, {"visibility": "private"}, {"scope": "user"}])
async def test_metadata_that_marks_an_entry_private_is_refused(
    metadata: dict[str, Any], tmp_path: Path
) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        said = await refused(client, "store_memory", content=SECRETIVE, metadata=metadata)
        assert f"metadata.{next(iter(metadata))}" in said
        await ok(client, "store_memory", content="Open to all.", metadata={"private": False, "tags": "a"})
    assert contents(root) == ["Open to all."]


async def test_a_server_on_the_users_own_store_writes_nothing_for_a_project_there(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with connect_inside(None, scope="user", sets=(COMPAT,)) as client:
        said = await refused(client, "store_memory", content=SECRETIVE, scope="project")
    assert "store_memory did nothing" in said
    assert contents(own_store(home)) == []


async def test_tools_of_other_sets_refuse_a_scope_that_they_do_not_work_in(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=("curate", "skills", "team", "explore", "graph")) as client:
        for tool, given in (
            ("reflect_and_consolidate", {"scope": "user"}),
            ("recall_skill", {"task": "deploy", "scope": "user"}),
            ("get_context", {"topic": "deploy", "scope": "nowhere"}),
            ("search", {"text": "deploy", "scope": "nowhere"}),
            ("search_graph", {"entity": "Ada", "scope": "nowhere"}),
            ("engram_explore", {"scope": "nowhere"}),
            ("observe", {"text": SECRETIVE, "scope": "user"}),
            ("handoff", {"summary": SECRETIVE, "scope": "user"}),
        ):
            assert "scope" in await refused(client, tool, **given), tool
        assert not (await ok(client, "reflect_and_consolidate", scope="project"))["applied"]
    assert contents(root) == []


def test_handoffs_and_observations_go_to_the_agents_default_scope_or_nowhere(
    tmp_path: Path, home: Path
) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        engram.register_agent("cammy", default_scope="user")
        engram.handoff(SECRETIVE, agent="cammy")
        engram.observe(SECRETIVE, agent="cammy")
        assert engram.list(status="").total == 0
    assert not [path for path in root.rglob("*.md") if SECRETIVE in path.read_text()]
    (profile,) = root.rglob("cammy.md")
    profile.write_text(profile.read_text().replace("default_scope: user", "default_scope: team-ml"))
    with open_test_store(root) as engram:
        for work in (engram.handoff, engram.observe):
            with pytest.raises(EngramError, match="team-ml"):
                work(SECRETIVE, agent="cammy")
        assert engram.get_context("salaries", agent="cammy").handoffs == ()
        assert engram.list(status="").total == 0


def test_each_session_of_one_server_has_a_session_store_of_its_own(tmp_path: Path) -> None:
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.recording.record import Draft, record

    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        with engram.calling("one", "ada"):
            record(open_scope_of(engram.store, "session"), Draft(SECRETIVE, "FACT"))
            assert [hit.lore.content for hit in engram.query("salaries", scopes="session").lore] == [
                SECRETIVE
            ]
        with engram.calling("two", "bob"):
            assert engram.query("salaries", scopes="session").lore == ()
            record(open_scope_of(engram.store, "session"), Draft("Bob's own.", "FACT"))
            (own,) = engram.query("bob", scopes="session").lore
            assert (own.lore.content, own.lore.agent) == ("Bob's own.", "bob")
