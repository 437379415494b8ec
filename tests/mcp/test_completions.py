"""Arguments of prompts and resources are completed from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, make_plain_store
from mcp_kit import connect_inside, ok
from mcp_types import PromptReference, ResourceTemplateReference

if TYPE_CHECKING:
    from pathlib import Path


async def test_arguments_are_completed(tmp_path: Path) -> None:
    root = make_plain_store(
        tmp_path / "store", '[store]\nfolder = "lore"\ncategories = { RUNBOOK = "procedural" }\n'
    )
    async with connect_inside(root) as client:
        made = await ok(client, "recall_record", content=QUEUE, category="runbook", tags=["queue", "Quota"])
        prompt, template = PromptReference(name="recall"), ResourceTemplateReference(uri="lore://{id}")

        async def complete(reference: object, name: str, value: str) -> list[str]:
            return (await client.complete(reference, {"name": name, "value": value})).completion.values

        assert await complete(prompt, "category", "run") == ["RUNBOOK"]
        assert await complete(prompt, "category", "testing-s") == ["TESTING_STRATEGY"]
        assert await complete(prompt, "tag", "qu") == ["Quota", "queue"]
        assert await complete(prompt, "task", "qu") == []
        assert await complete(template, "id", "01") == [made["id"]]
