"""The JSON shown in docs/cli.md has the shape of the commands' real output."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engram.cli import registry
from engram.cli.main import main

PAGE = (Path(__file__).resolve().parents[2] / "docs/cli.md").read_text("utf-8")
SHOWN: dict[str, Any] = {
    name: json.loads(text)
    for name, text in re.findall(r"^```json ([^\n]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
}
ANY = "…"
TWIN = "Consumers of the queue must be idempotent: redelivery happens after a missed ack."

# In the order in which a user would type them; those without a name prepare the others.
SCRIPT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("init", ("init", ".")),
    ("", ("record", TWIN, "--category", "fact", "--tag", "queue")),
    ("", ("reindex",)),
    ("record", ("record", TWIN + " Always.", "--category", "fact")),
    ("query", ("query", "redelivery after a missed ack", "-k", "1")),
    ("feedback", ("feedback", "--helpful", "L1")),
    ("lore", ("show", "L1")),
    ("show", ("show", "L1")),
    ("edit", ("edit", "L1", "--add-tag", "billing")),
    ("list", ("list", "--tag", "billing")),
    ("worth", ("worth", "L1")),
    ("evolve", ("evolve",)),
    ("log", ("log", "L1")),
    ("log --limit 1", ("log", "--limit", "1")),
    ("diff", ("diff", "L1")),
    ("bisect", ("bisect", "redelivery after a missed ack", "-k", "1")),
    ("blame", ("blame", "L1")),
    ("undo", ("undo",)),
    ("redo", ("redo",)),
    ("restore", ("restore", "L1", "--at", "HEAD~1")),
    ("session", ("session",)),
    ("status", ("status",)),
    ("remote", ("remote", "add", "origin", "../hub.git")),
    ("sync --dry-run", ("sync", "--dry-run")),
    ("sync", ("sync",)),
    ("sync --all", ("sync", "--all")),
    ("clone", ("clone", "../hub.git", "../clone")),
    ("demo", ("demo",)),
    ("scope add", ("scope", "add", "team-ml", "../hub.git")),
    ("scope", ("scope",)),
    ("promote", ("promote", "L1", "--to", "team-ml", "--dry-run")),
    ("scope remove", ("scope", "remove", "team-ml", "--yes")),
    ("move", ("move", "--to", "branch", "../code", "--dry-run")),
    ("import", ("import", "notes")),
    ("import --dry-run", ("import", "notes", "--dry-run")),
    ("live", ("live", "--limit", "1000")),
    ("metrics", ("metrics",)),
    ("extract", ("extract", "retro.md")),
    ("insight", ("insight",)),
    ("explore", ("explore", "--scope", "project")),
    ("explore --peek", ("explore", "--peek")),
    ("aggregate", ("aggregate", "L1", "L1")),
    ("sql", ("sql", "SELECT tag FROM tags WHERE tag = 'queue' LIMIT 1")),
    ("", ("record", "Find by tag.\n\n```sql\nSELECT id FROM tags\n```", "-c", "skill", "-t", "skill")),
    ("skill", ("skill",)),
    ("", ("record", "It drains at six.", "-c", "fact", "--entity", "queue", "--entity", "Redis")),
    ("graph", ("graph", "queue")),
    (
        "link ZooKeeper",
        ("link", "ZooKeeper", "--type", "tool", "--to", "Kafka", "--alias", "zk", "--set", "port=2181"),
    ),
    ("link", ("link", "--type", "tool")),
    ("", ("team", "register", "ada", "--capability", "review", "--set", "tone=short")),
    ("team", ("team",)),
    ("team handoff", ("team", "handoff", "The retries are left.", "--to", "ada")),
    ("team handoffs", ("team", "handoffs")),
    ("team context", ("team", "context", "the queue", "--agent", "ada")),
    ("team summary", ("team", "summary", "Looked at the queue.", "--with", "ada")),
    ("team observe", ("team", "observe", "The broker seems slow on Mondays.")),
    ("search", ("search", "--limit", "1")),
    ("maintain", ("maintain",)),
    ("adopt", ("adopt",)),
    ("doctor", ("doctor",)),
    ("", ("record", "The gateway answers 429 above ten calls a second.", "-c", "fact")),
    ("check", ("check",)),
    (
        "",
        ("record", "Twenty seats are all that the licence server has.", "-c", "fact", "--status", "pending"),
    ),
    ("review", ("review", "--kind", "pending")),
    ("review accept", ("review", "accept", "--all", "--kind", "pending", "--yes")),
    ("", ("record", "The broker restarts on Mondays at six.", "-c", "fact")),
    ("", ("record", "Backups of the broker are kept for a week.", "-c", "fact")),
    ("", ("query", "backups of the broker", "-k", "1")),
    ("", ("edit", "L1", "--content", "The broker restarts on Mondays at six!")),
    ("consolidate", ("consolidate", "--only", "merge", "--apply")),
    ("forget", ("forget", "L1")),
    ("reindex", ("reindex",)),
    ("config", ("config",)),
    ("config recall.limit", ("config", "recall.limit")),
    ("config --accept", ("config", "--accept")),
    ("trust", ("trust",)),
    ("config recall.limit 6", ("config", "recall.limit", "6")),
    ("completion", ("completion", "bash")),
    ("agents", ("agents",)),
    ("connect", ("connect", "codex", "--yes")),
    ("disconnect", ("disconnect", "codex", "--yes")),
    ("connect --print", ("connect", "codex", "--print")),
    ("hook", ("hook", "session-end", "--agent", "codex")),
    ("propose", ("propose", "-m", "What was learned")),
    ("propose --list", ("propose", "--list")),
    ("error", ("show", "L9")),
)


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Run the script and return the output of each command, by its name on the page."""
    folder = tmp_path / "store"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ENGRAM_SESSION", "docs")
    monkeypatch.setenv("ENGRAM_BACKGROUND", "inline")
    found = {}
    for name, arguments in SCRIPT:
        if name == "import":
            set_scene(folder)
        if name == "move":
            subprocess.run(("git", "init", "-q", str(tmp_path / "code")), check=True)
        if name == "remote":
            subprocess.run(("git", "init", "-q", "--bare", str(tmp_path / "hub.git")), check=True)
        main([*arguments, "--json"])
        text = capsys.readouterr().out
        found[name] = json.loads(text)
    return found


def set_scene(folder: Path) -> None:
    """Write notes to import (one is not text), a file to adopt, and a broken entry for doctor."""
    for name, content in {
        "notes/good.md": b"# Seats\n\nThe licence server allows 20 seats.\n",
        "notes/bad.md": b"\xff\xfe\xfd",
        "retro.md": b"# Retro\n\nGotcha: `SKIP LOCKED` needs an index on (state, run_at).\n",
        "lore/dropped.md": b"The staging database resets on Mondays.\n",
        "lore/broken.md": b"---\ncategory: WISDOM\n---\nText.\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def differences(shown: Any, real: Any, where: str = "") -> list[str]:
    """Return where a documented shape differs from a real value, in keys, types or first items of lists."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return of_objects(shown, real, where)
    if isinstance(shown, list) and isinstance(real, list):
        if shown and not real:
            return [f"{where} is empty, so it shows nothing"]
        return differences(shown[0], real[0], f"{where}[]") if shown else []
    kinds = {int if kind is float else kind for kind in (type(shown), type(real))} - {type(None)}
    return [f"{where}: {shown!r} is documented, {real!r} is real"] if len(kinds) > 1 else []


def of_objects(shown: dict[str, Any], real: dict[str, Any], where: str) -> list[str]:
    if shown.get(ANY) == "lore":
        shown = {**SHOWN["lore"], **{key: value for key, value in shown.items() if key != ANY}}
        real = {**real, "conflicts": [], "relations": []}
    elif ANY in shown:
        inside = [] if shown[ANY] == ANY else list(real.values())[:1]
        return [found for value in inside for found in differences(shown[ANY], value, f"{where}.*")]
    keys = [f"{where}.{key} is documented only" for key in shown.keys() - real.keys()]
    keys += [f"{where}.{key} is real only" for key in real.keys() - shown.keys()]
    both = shown.keys() & real.keys()
    return keys + [found for key in both for found in nested(key, shown[key], real[key], where)]


def nested(key: str, shown: Any, real: Any, where: str) -> list[str]:
    """Return the differences of a nested value; lists in an entry may be empty, as the page describes their items in words."""
    in_lore = key in SHOWN["lore"] and isinstance(real, list | dict) and not (shown and real)
    return [] if in_lore else differences(shown, real, f"{where}.{key}")


def test_a_difference_is_noticed() -> None:
    assert differences({"a": 1, "b": [{"c": "…"}]}, {"a": 2, "b": [{"c": "x"}, 1]}) == []
    assert differences({"a": 1}, {"a": "1", "b": 1}) == [
        ".b is real only",
        ".a: 1 is documented, '1' is real",
    ]
    assert differences({"a": [1]}, {"a": []}) == [".a is empty, so it shows nothing"]


def test_every_command_that_prints_json_is_shown() -> None:
    without = {"tui", "mcp", "serve", "export"}  # a screen; servers; the same shape as `list`
    assert {command.name for command in registry.COMMANDS} - without <= {name.split()[0] for name in SHOWN}
    assert SHOWN.keys() == {name for name, _ in SCRIPT if name}


def test_the_documented_json_has_the_shape_of_the_real_output(printed: dict[str, Any]) -> None:
    more = {"ref", "scope", "origin", "promoted_from", "worth", "learned_when"}
    printed["lore"] = {key: value for key, value in printed["lore"]["lore"].items() if key not in more}
    wrong = {name: differences(SHOWN[name], printed[name]) for name in SHOWN}
    assert {name: found for name, found in wrong.items() if found} == {}
