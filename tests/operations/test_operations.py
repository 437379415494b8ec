"""Operations are described once: a field added to a description is in every front end, and use cases agree with it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import make_plain_store, open_test_store

from engram.app import Engram
from engram.operations.edit import EDIT
from engram.operations.feedback import FEEDBACK
from engram.operations.lookup import DELTA, LIST, SORTS
from engram.operations.recall import QUERY, SEARCH
from engram.operations.record import RECORD
from engram.operations.sync import SYNC
from engram.usecases.lookup import listing
from engram.usecases.recall.find import find
from engram.usecases.recall.query import MAX_RESULTS, STRATEGIES, Question
from engram.usecases.recording.edit import Edit
from engram.usecases.recording.feedback import feedback
from engram.usecases.recording.record import Draft
from engram.usecases.sync.sync import Options

if TYPE_CHECKING:
    from engram.operations.description import Operation

ROOT = Path(__file__).resolve().parents[2]

# Describes one field more before any front end is loaded, then prints what each front end makes of it.
WITH_A_FIELD = """
import json
from engram.operations import record
from engram.operations.description import TAG, texts

mood = texts("moods", "mood", "the mood it was learned in", agent_help="The mood of that day", values=TAG)
record.RECORD = record.RECORD._replace(parameters=(*record.RECORD.parameters, mood))

from engram.cli.commands.interfaces.completion import completion_script
from engram.cli.parsing import command_parser
from engram.cli.registry import find
from engram.http.openapi import build_document
from engram.mcp.tools.core import TOOLS
from tools import generate_docs

parser = command_parser(find("record"))
print(json.dumps({
    "help": " ".join(parser.format_help().split()),
    "parsed": parser.parse_args(["x", "--mood", "calm,glad"]).moods,
    "schema": TOOLS["recall_record"].parameters["properties"]["moods"],
    "openapi": build_document(),
    "completion": {shell: completion_script(shell) for shell in ("bash", "zsh", "tcsh")},
    "command page": generate_docs.commands(),
    "tools page": generate_docs.mcp_tools(),
}))
"""

# Offers a field everywhere that the use case has and the command line and agents did not offer, and uses it.
WITH_IMPORTANCE = """
import asyncio, json, sys
from engram.operations import record
from engram.operations.description import EVERYWHERE

record.RECORD = record.RECORD._replace(parameters=record.RECORD.offered("http", importance={"front_ends": EVERYWHERE}))

from engram.cli.main import main
from engram.mcp.caller import bind_caller
from engram.mcp.memory import Caller, Memory, Opening
from engram.mcp.tools.core import TOOLS

async def ignore_progress(*_):
    pass

async def agent():
    memory = Memory(Opening(sys.argv[1]))
    arguments = {"content": "Builds are slow on Mondays.", "category": "fact", "importance": 0.9}
    with bind_caller(memory, Caller("s", "a", ignore_progress)):
        done = await TOOLS["recall_record"].run(arguments, None)
    memory.close()
    return done.structured_content["id"]

main(["record", "Deploys are slow on Fridays.", "-c", "fact", "--importance", "0.8", "--store", sys.argv[1], "--json"])
print(json.dumps(asyncio.run(agent())))
"""


def run(code: str, *arguments: str) -> list[Any]:
    """Run code in a fresh Python; return the JSON values of its lines."""
    done = subprocess.run(
        (sys.executable, "-c", code, *arguments), capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_field_added_to_a_description_is_in_every_front_end() -> None:
    (found,) = run(WITH_A_FIELD)
    assert "--mood MOOD the mood it was learned in (repeatable, or with commas)" in found["help"]
    assert found["parsed"] == ["calm", "glad"]
    strings = {"type": "array", "items": {"type": "string"}}
    assert found["schema"] == {**strings, "description": "The mood of that day"}
    shapes = found["openapi"]["components"]["schemas"]
    assert shapes["Whole"]["properties"]["moods"]["items"] == {"type": "string"}
    taken = found["openapi"]["paths"]["/api/v1/lore"]["post"]["requestBody"]["content"]["application/json"]
    assert taken["schema"]["anyOf"][0]["properties"]["moods"] == found["schema"]
    scripts = found["completion"]
    assert "_shtab_engram_record___mood_COMPGEN=_engram_tag" in scripts["bash"]
    assert all("--mood" in line or "mood" in line for line in (scripts["zsh"], scripts["tcsh"]))
    assert (
        "| `--mood MOOD` | the mood it was learned in (repeatable, or with commas) |" in found["command page"]
    )
    assert "`redact`?, `moods`? |" in found["tools page"]


@pytest.mark.slow
def test_the_value_of_an_added_field_reaches_the_entry(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    recorded, by_agent = run(WITH_IMPORTANCE, str(root))
    with open_test_store(root) as engram:
        assert engram.get(recorded["lore"]["id"]).lore.importance == 0.8
        assert engram.get(by_agent).lore.importance == 0.9


@pytest.mark.parametrize(
    ("operation", "use_case"),
    [
        (RECORD, Draft),
        (RECORD, Engram.record),
        (QUERY, Question),
        (FEEDBACK, feedback),
        (FEEDBACK, Engram.feedback),
        (SYNC, Options),
        (SYNC, Engram.sync),
        (LIST, listing.list_hits),
        (SEARCH, find),
        (SEARCH, Engram.search),
        (DELTA, Engram.delta),
        (EDIT, Edit),
    ],
)
def test_use_cases_have_the_described_parameters_and_defaults(operation: Operation, use_case: Any) -> None:
    if hasattr(use_case, "_fields"):  # a value type, whose signature says nothing
        defaults = use_case._field_defaults
    else:
        defaults = {one.name: one.default for one in inspect.signature(use_case).parameters.values()}
    described = {one.name: one.default for one in operation.parameters if not one.required}
    assert {name: defaults[name] for name in described} == described


def test_descriptions_and_use_cases_have_the_same_choices() -> None:
    described = {one.name: one for operation in (QUERY, LIST) for one in operation.parameters}
    assert described["strategy"].choices == STRATEGIES
    assert tuple(listing.SORTS) == SORTS
    assert next(one for one in QUERY.parameters if one.name == "limit").high == MAX_RESULTS
