"""The benchmark command: real measurements of a small store, and a report of targets met and missed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from effort import is_thorough

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_the_report_says_which_targets_are_met_and_which_are_missed() -> None:
    from figures import Figure, Group, against, report, timed
    from measuring import Cost

    quick, slow = timed("quick", Cost(12.3, 45.6)), timed("slow", Cost(1234, 2000))
    figures = [
        against(quick, 12.3, 30, "CPU-ms"),
        against(slow, 1234, 30, "CPU-ms"),
        Figure("disk", more="3 MB"),
    ]
    text = report([Group("Start", figures)], ["a machine"], "2026-01-02", "the command")
    assert "| quick | 12.3 | 45.6 |  | ≤ 30 CPU-ms | met |" in text
    assert "| slow | 1,234 | 2,000 |  | ≤ 30 CPU-ms | **missed** |" in text
    assert "| disk |  |  | 3 MB |  |  |" in text
    assert "Targets met: 1 of 2." in text
    assert "- a machine" in text


def test_a_child_is_measured_with_its_output_exit_code_and_memory(tmp_path: Path) -> None:
    from measuring import run

    work = "import sys; print(sum(i * i for i in range(400_000))); sys.exit(3)"
    child = run([sys.executable, "-c", work], str(tmp_path))
    assert child.code == 3
    assert child.output.strip() == str(sum(i * i for i in range(400_000)))
    assert child.cost.cpu_ms > 5
    assert child.cost.wall_ms > 5
    assert child.peak_mb > 1
    assert run(["/no/such/program"], str(tmp_path)).code == 127


def test_costs_of_this_process_count_processor_and_wall_time() -> None:
    from measuring import Cost, cost_of, median

    spent = cost_of(lambda: sum(i * i for i in range(300_000)))
    assert spent.cpu_ms > 1
    assert spent.wall_ms > 1
    assert median([Cost(1, 30), Cost(2, 20), Cost(9, 10)]) == (2, 20)


@pytest.mark.slow
def test_changes_are_noticed_shown_and_undone(tmp_path: Path) -> None:
    import changing
    import generate

    root = tmp_path / "store"
    generate.generate(str(root), 180, 1)
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    found = changing.changes(str(root), repeats=1, many=20, settle_seconds=0)
    assert set(found) == {"replaced", "rewritten", "swept", "new", "deleted", "many"}
    assert all(cost.wall_ms > 0 for cost in found.values())
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


@pytest.mark.slow
def test_a_measurement_on_a_busy_machine_is_repeated_and_the_quietest_counts() -> None:
    from steady import Steady

    moments = iter([10.0] * 10 + [10.0, 20.0] + [15.0, 14.0] + [10.0, 11.0])
    steady = Steady(lambda: next(moments), attempts=3, wait_seconds=0)
    results = iter(["slow", "slow too", "quiet"])
    assert steady("a rebuild", lambda: next(results)) == "quiet"
    assert "measured again, 2 times" in steady.summary()
    assert "never" not in steady.summary()


def test_measurements_that_were_never_quiet_are_named_in_the_report() -> None:
    from steady import Steady

    moments = iter([10.0] * 10 + [10.0, 20.0] + [15.0, 14.0])
    steady = Steady(lambda: next(moments), attempts=2, wait_seconds=0)
    results = iter(["slowest", "slow"])
    assert steady("a rebuild", lambda: next(results)) == "slow"
    assert "never in a quiet moment: a rebuild (15 ms)" in steady.summary()


@pytest.mark.slow
def test_the_whole_command_measures_a_small_store_and_writes_the_report(tmp_path: Path) -> None:
    output = tmp_path / "report.md"
    command = [
        sys.executable,
        str(BENCHMARKS / "run.py"),
        "--sizes",
        "60",
        "--runs",
        "1",
        "--attempts",
        "1",
        "--output",
        str(output),
        "--keep",  # a background commit may still write to the stores
        str(tmp_path / "stores"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    text = output.read_text("utf-8")
    assert "## 60 entries" in text
    assert "- bare Python at its fastest" in text
    for measure in (
        "Rebuild the index",
        "Searchable: 1 file edited",
        "Warm query, hybrid",
        "Record acknowledged",
    ):
        assert measure in text


@pytest.mark.skipif(not is_thorough(), reason="takes half a minute; ./test --thorough runs it")
def test_the_sync_benchmark_merges_a_small_store_and_reports(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "sync.py"), "--sizes", "250", "--attempts", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "## 250 entries" in done.stdout
    assert "| 100 files changed here, the same 100 there |" in done.stdout
