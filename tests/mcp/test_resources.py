"""Resources are listed, and a missing one is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE
from mcp import MCPError
from mcp_kit import connect_inside, ok

if TYPE_CHECKING:
    from pathlib import Path


async def test_resources_are_listed_and_a_missing_one_is_an_error(root: Path) -> None:
    async with connect_inside(root) as client:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [
            "lore://recent",
            "lore://session",
        ]
        assert [one.uri_template for one in (await client.list_resource_templates()).resource_templates] == [
            "lore://{id}"
        ]
        made = await ok(client, "recall_record", content=QUEUE, category="fact")
        assert (
            f"> {made['id']} · Queue consumer patterns"
            in (await client.read_resource("lore://recent")).contents[0].text
        )
        part = (await client.read_resource(f"lore://{made['id'][:20]}")).contents[0]
        assert (part.mime_type, "> Queue consumer patterns" in part.text) == ("text/markdown", True)
        with pytest.raises(MCPError, match="There is no entry 01JZZZZZZZZZZZZZZZZZZZZZZZ"):
            await client.read_resource("lore://01JZZZZZZZZZZZZZZZZZZZZZZZ")
