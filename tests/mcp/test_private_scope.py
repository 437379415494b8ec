"""No tool of any set brings entries of a private scope into the project's store or its remote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from apikit import dedicated, git, ok
from effort import sampled
from mcp_kit import connect_inside

from engram.mcp.tools import COMPAT, SETS

if TYPE_CHECKING:
    from pathlib import Path

SECRETIVE = "Zanzibar salaries are discussed on Fridays"
# An argument of each type; what is private stands in every text.
_LONG = f"{SECRETIVE}, which nobody of this project may read."
_WORDS = {"string": _LONG, "integer": 3, "number": 0.5, "boolean": True, "object": {}}
_SCOPES = ("scope", "scopeId", "namespace", "target_scope", "default_scope")


def filled(schema: dict[str, Any]) -> Any:
    """A value that fits a schema, as far as it says what fits."""
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [filled(schema.get("items", {"type": "string"}))]
    if schema.get("type") == "object":
        return {name: filled(one) for name, one in schema.get("properties", {}).items()}
    return _WORDS.get(str(schema.get("type", "string")), _LONG)


@sampled("scope", ("user", "private", "personal", "local", "team", "alex-and-bo", "session"))
async def test_no_tool_of_any_set_lets_what_is_private_into_the_project_or_its_remote(
    scope: str, tmp_path: Path
) -> None:
    root, hub = dedicated(tmp_path / "store"), tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    git(root, "remote", "add", "origin", str(hub))
    ok("record", "Builds of this project take nine minutes.", "-c", "fact", cwd=root)
    ok("sync", cwd=root)
    honoured = set[str]()
    async with connect_inside(root, sets=(*SETS, COMPAT)) as client:
        for tool in (await client.list_tools()).tools:
            properties = tool.input_schema.get("properties", {})
            asked = {
                name: filled(one) for name, one in properties.items() if name not in (*_SCOPES, "project")
            }
            named = [name for name in _SCOPES if name in properties] or ["scope"]
            least = {name: asked[name] for name in tool.input_schema.get("required", ()) if name in asked}
            for arguments in (asked, least):
                done = await client.call_tool(tool.name, {**arguments, **dict.fromkeys(named, scope)})
                said = str(done.content)
                assert "Not used here: scope" not in said, tool.name
                if done.is_error:
                    assert said.strip(), tool.name
                else:
                    honoured.add(tool.name)
    ok("sync", cwd=root)
    if scope in ("user", "private", "personal", "local", "session"):
        assert {"recall_record", "recall_query", "store_memory", "mem_save"} <= honoured
    else:
        assert not honoured & {"recall_record", "store_memory", "mem_save", "remember", "add_memory"}
    for place in (root, hub):
        everything = ("git", "-C", str(place), "cat-file", "--batch-all-objects", "--batch")
        whole = (await anyio.run_process(everything)).stdout
        assert b"nine minutes" in whole
        assert SECRETIVE.encode() not in whole, place
    assert not [path for path in (root / "lore").rglob("*.md") if SECRETIVE in path.read_text("utf-8")]
