"""The comparison with rivals: its driver, its table, and all measurements of the rival that every Python has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def module(name: str) -> ModuleType:
    import importlib

    return importlib.import_module(name)


def rival(name: str, folder: Path) -> Any:
    kind = getattr(module("peer_rivals"), name)
    folder.mkdir(exist_ok=True)
    return kind(str(folder / "installed"), str(folder), [sys.executable])


def test_sqlite_goes_through_every_row(tmp_path: Path) -> None:
    workload = module("peer_workload")
    said: list[str] = []
    fts = rival("SqliteFts5", tmp_path)
    rows = workload.measure(fts, workload.generate_notes(30), workload.generate_questions()[:5], said.append)
    assert {name: row.number is not None for name, row in rows.items()} == {
        "import": True, "rebuild": True, "cold": True, "warm": True, "add": True, "writers": True, "damage": True,
    }  # fmt: skip
    assert rows["writers"].text.startswith("100 of 100")
    assert [line.partition(": ")[2] for line in said] == [
        "import",
        "rebuild",
        "cold",
        "warm",
        "writers",
        "damage",
    ]


def test_a_rival_that_cannot_be_installed_or_queried_says_why(tmp_path: Path) -> None:
    peers, workload = module("peers"), module("peer_workload")

    class Broken(module("peer_rivals").SqliteFts5):  # type: ignore[name-defined, misc]
        name = "broken"

        def search(self, *_: object) -> list[str]:
            raise module("peer_process").PeerError("no such\n thing")

    rows = workload.measure(rival("SqliteFts5", tmp_path).__class__ and Broken("", str(tmp_path), []),
                            workload.generate_notes(3), ["a b"], lambda _: None)  # fmt: skip
    assert rows["warm"].text == "fails: no such thing"

    class Missing(module("peer_more").AgentRecall):  # type: ignore[name-defined, misc]
        name, where = "missing", "missing"

    version, found = peers._measure(Missing, str(tmp_path / "i"), str(tmp_path), [], ["1k"], None)
    assert version == "(cannot be installed: no Python found)"
    assert found[0]["import"].text.startswith("fails: cannot be installed")


def test_the_table_shows_ratios_to_the_first_column(tmp_path: Path) -> None:
    peers, row = module("peers"), module("peer_workload").Row
    lines = peers.table(
        ["Engram", "other"],
        [
            {"warm": row("2.0", 2.0), "til": row("0.990", 0.99)},
            {"warm": row("7.0", 7.0), "til": row("0.5", 0.5)},
        ],
    )
    assert lines[2:] == [
        "| warm question, ms (p50) | 2.0 | 7.0 (3.5 ×) |",
        "| til_titles recall@5 | 0.990 | 0.5 |",
    ]


def test_a_repeated_failure_in_a_column_is_abbreviated(tmp_path: Path) -> None:
    peers, row = module("peers"), module("peer_workload").Row
    broken = row("fails: no model")
    lines = peers.table(
        ["Engram", "other"], [{"cold": row("1"), "warm": row("2")}, {"cold": broken, "warm": broken}]
    )
    assert [line.rpartition(" | ")[2] for line in lines[2:]] == ["fails: no model |", "fails: the same |"]


def test_engrams_answers_are_matched_by_text_passage_or_title(tmp_path: Path) -> None:
    engram = rival("EngramPeer", tmp_path)
    first = (
        "Deploys [wait](https://x.example) for the queue, which is drained by hand because workers forget."
    )
    text = f"{first}\n\n## Later\n\nDrain it twice."
    engram._remember(text, "n000001")
    engram._remember("Backups run at night.", "n000002")
    passage = "# Deploys\n…\nfor the queue, which is drained by hand because workers"
    assert [engram._key(shown) for shown in (text, passage, "Deploys [wait] (https://x.example) for the …", "Other")] == [
        "n000001", "n000001", "n000001", "",
    ]  # fmt: skip


def test_an_mcp_server_answers_and_its_exit_is_reported(tmp_path: Path) -> None:
    process = module("peer_process")
    script = tmp_path / "server.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        "    if asked['method'] == 'tools/call': sys.exit('it broke')\n"
        "    print('noise'); print(json.dumps({'id': asked['id'], 'result': {'tools': ['x' * 394]}}), flush=True)\n"
    )
    with process.Server([sys.executable, str(script)], str(tmp_path), {}) as server:
        assert server.tools_tokens() == 99
        assert server.resident_mb() > 1
        with pytest.raises(process.PeerError, match="ended: it broke"):
            server.call("anything")


def test_a_failed_command_reports_its_last_line(tmp_path: Path) -> None:
    process = module("peer_process")
    with pytest.raises(process.PeerError, match=r"^so it is$"):
        process.command([sys.executable, "-c", "import sys; sys.exit('first\\nso it is')"], str(tmp_path), {})
    with pytest.raises(process.PeerError, match="longer than 0 s"):
        process.command([sys.executable, "-c", "while True: pass"], str(tmp_path), {}, limit=0.2)


def test_the_section_replaces_the_previous_one_and_is_preserved(tmp_path: Path) -> None:
    section = module("peer_section")
    path = str(tmp_path / "benchmarks.md")
    assert section.kept_section(path) == ""
    Path(path).write_text("# Benchmarks\n\nrest\n")
    for text in ("## One\n", "## Two\n"):
        section.write_section(text, path)
    assert (
        Path(path).read_text()
        == "# Benchmarks\n\nrest\n\n<!-- peers: begin -->\n## Two\n<!-- peers: end -->\n"
    )
    kept = section.kept_section(path)
    Path(path).write_text("# Anew\n" + kept)
    assert section.kept_section(path) == kept
    assert os.listdir(tmp_path) == ["benchmarks.md"]
