"""Skills: found by task, with read-only queries, ranked by the outcomes of earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, cli, ok, open_test_store
from mcp_kit import connect_inside, text
from mcp_kit import ok as answered

from engram.domain.agents.skills import NEVER, Record, query_of
from engram.domain.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

TAGGED = """# Find lore with a tag

The lore with one tag.

```sql
SELECT title FROM tags JOIN lore USING (id) WHERE tag = :tag
```
"""
AGAIN = TAGGED.replace("# Find lore with a tag", "# Find all lore with a tag").replace(
    "title FROM", "nothing FROM"
)
RECIPE = "# Restart the message broker\n\n1. Drain it.\n2. Restart it.\n"


@pytest.fixture
def engram(root: Path) -> Iterator[Engram]:
    with open_test_store(root) as engram:
        engram.record(QUEUE, category="fact", tags=["queue"])
        yield engram


def skill(engram: Engram, content: str, **more: str) -> str:
    return engram.record(content, category="skill", tags=["skill"], **more).lore.id


def test_the_query_of_a_skill_is_its_first_block_of_sql() -> None:
    assert query_of(TAGGED) == "SELECT title FROM tags JOIN lore USING (id) WHERE tag = :tag"
    assert query_of("~~~SQL\nSELECT 1\n~~~\n```sql\nSELECT 2\n```") == "SELECT 1"
    assert query_of("````sql title\nSELECT '```'\n````") == "SELECT '```'"
    assert query_of("```sh\nls\n```\n\nSELECT 1") == query_of(RECIPE) == query_of("```sql\nSELECT 1") == ""


def test_a_record_counts_the_more_the_more_runs_it_has() -> None:
    assert NEVER.factor == 1
    assert 1 < Record(1, 1).factor < Record(9, 9).factor < 1.25
    assert 0.75 < Record(9, 0).factor < Record(1, 0).factor < 1
    assert Record(4, 2).factor == 1


def test_a_skill_is_recalled_and_run(engram: Engram) -> None:
    lore_id = skill(engram, TAGGED)
    found = engram.recall_skill("find lore with a tag")
    assert (found.lore.id, found.ref, found.result, found.record) == (lore_id, "L1", None, NEVER)
    run = engram.recall_skill("find lore with a tag", execute=True, parameters={"tag": "queue"})
    assert run.result.rows == ((QUEUE,),)
    assert run.record == Record(1, 1)
    assert engram.run_skill("L1", {"tag": "nothing"}).record == Record(2, 2)
    (entry,) = engram.live(limit=1)
    assert (entry.action, entry.ids, entry.details) == ("skill", (lore_id,), {"runs": 1, "successes": 1})


def test_an_entry_without_the_tag_or_category_is_no_skill(engram: Engram) -> None:
    engram.record("# Find lore with a tag, as a fact", category="fact", tags=["skill"])
    engram.record("# Find lore with a tag, without the tag", category="skill")
    pending = skill(engram, TAGGED, status="pending")
    assert engram.recall_skill("find lore with a tag") is None
    assert engram.skills() == []
    with pytest.raises(UsageError, match="not a skill"):
        engram.run_skill(engram.list(tags="queue").lore[0].lore.id)
    with pytest.raises(NotFoundError):
        engram.run_skill("L99")
    assert engram.run_skill(pending, {"tag": "queue"}).result.rows  # a person names it


def test_outcomes_of_runs_decide_between_skills_for_the_same_task(engram: Engram) -> None:
    bad, good = skill(engram, AGAIN), skill(engram, TAGGED)
    before = engram.recall_skill("find all lore with a tag").lore.id
    assert before == bad
    for _ in range(6):
        assert "syntax error" in engram.run_skill(bad, {"tag": "queue"}).error
        engram.run_skill(good, {"tag": "queue"})
    assert engram.recall_skill("find all lore with a tag").lore.id == good
    assert [(one.lore.id, one.record) for one in engram.skills()] == [
        (good, Record(6, 6)),
        (bad, Record(6, 0)),
    ]


def test_a_missing_value_does_not_count_as_a_failure_of_the_skill(engram: Engram) -> None:
    skill(engram, TAGGED)
    found = engram.recall_skill("find lore with a tag", execute=True)
    assert (found.error, found.record) == ("It needs a value for tag.", NEVER)


def test_a_skill_that_would_write_fails_and_writes_nothing(engram: Engram) -> None:
    lore_id = skill(engram, "# Empty it\n\n```sql\nDELETE FROM catalog.files\n```\n")
    assert "only the tables of this memory can be read" in engram.run_skill(lore_id).error
    assert engram.list().total == 2


def test_the_command_lists_and_runs_skills(root: Path, engram: Engram) -> None:
    assert ok("skill", cwd=root).out.startswith("No skills yet.")
    tagged, recipe = skill(engram, TAGGED), skill(engram, RECIPE)
    done = ok("skill", "run", "find lore with a tag", "--param", "tag=queue", cwd=root)
    assert done.out.splitlines()[1:] == ["title", QUEUE]
    listed = [line.split()[:2] for line in ok("skill", "list", cwd=root).out.splitlines()]
    assert listed == [[tagged, "query"], [recipe, "recipe"]]
    assert "1. Drain it." in ok("skill", "run", "restart the message broker", cwd=root).out
    assert ok("skill", "run", tagged, "--param", "tag=x", "--json", cwd=root).json["runs"] == 2
    refusals = (
        (["run"], 2), (["run", recipe], 2), (["run", "bake bread with rye"], 3), (["run", tagged], 1), (["list", "x"], 2),
        (["run", tagged, "--param", "tag"], 2),
    )  # fmt: skip
    for line, code in refusals:
        assert cli("skill", *line, cwd=root).code == code, line


async def test_an_agent_recalls_and_runs_skills_over_mcp(root: Path, engram: Engram) -> None:
    skill(engram, TAGGED)
    async with connect_inside(root, sets=("skills",)) as client:
        found = await answered(client, "recall_skill", task="find lore with a tag")
        assert (found["ref"], found["query"][:6], "result" in found) == ("L1", "SELECT", False)
        asked = {"task": "find lore with a tag", "execute": True, "parameters": {"tag": "queue"}}
        ran = await client.call_tool("recall_skill", asked)
        assert ran.structured_content["result"]["rows"] == [[QUEUE]]
        assert f"> {QUEUE}" in text(ran)
        assert "Runs here: 1, of which 1 went well." in text(ran)
        same = await answered(
            client, "recall_skill", task_description="find lore with a tag", scope="project"
        )
        assert same["id"] == found["id"]
        assert "not_used" not in same
        none = await answered(client, "recall_skill", task="bake bread with rye")
    assert none == {"notice": "No skill here matches that."}
