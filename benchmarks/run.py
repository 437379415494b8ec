"""Run all benchmarks: `python benchmarks/run.py [--sizes 1k,10k,100k] [--output docs/benchmarks.md]`.

Generates stores in a temporary folder (or in that of `--keep`, to be reused), measures each in separate processes, and
prints a report with each target met or missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import generate
from figures import Figure, Group, against, describe_machine, report, timed
from measuring import Child, Cost, median, run
from peer_section import kept_section
from scratch_store import PYTHON_PATH, ROOT, isolate, write_lore
from steady import ATTEMPTS, STARTS, Steady, bare_python

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEED = 1
_RUNS = 11
_CLI = "from engram.cli.main import run; run()"
_PAUSE_SECONDS = 0.6


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; always 0, since a missed target is a finding and not an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", default="1k,10k,100k", help="store sizes, comma-separated (default: %(default)s)"
    )
    parser.add_argument("--output", help="also write the report to this file")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the stores here and use them again")
    parser.add_argument(
        "--runs",
        type=int,
        default=_RUNS,
        help="number of starts of whole processes (default: %(default)s); 1 only tries the command: little of anything"
        " is done, and the figures mean nothing",
    )
    parser.add_argument(
        "--attempts",
        type=int,
        default=ATTEMPTS,
        help="most attempts at a measurement while the machine is slow (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    output = os.path.abspath(options.output) if options.output else ""
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        folder = os.path.abspath(options.keep or temporary)
        isolate(os.path.join(temporary, "home"))
        os.environ["PYTHONPATH"] = PYTHON_PATH
        compile_all()
        steady = Steady(lambda: bare_python(temporary, min(STARTS, options.runs)), options.attempts)
        groups = [_measure_start(temporary, options.runs, steady)]
        groups += [
            _measure_size(folder, count_of(size), options.runs, steady) for size in options.sizes.split(",")
        ]
        text = report(
            groups,
            [*describe_machine(), steady.summary()],
            f"{datetime.now(UTC):%Y-%m-%d}",
            f"python benchmarks/run.py --sizes {options.sizes}",
        )
    print(text)
    if output:
        text += kept_section(output)
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def compile_all() -> None:
    """Write byte code first: with PYTHONDONTWRITEBYTECODE set, each start would compile again."""
    folders = [os.path.join(ROOT, name) for name in ("engram", "tui")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)


def _measure_start(folder: str, runs: int, steady: Steady) -> Group:
    bare = steady("bare Python", lambda: _starts(folder, runs, "-c", "pass"))
    figures = [timed("Python that does nothing", bare)]
    if _cli_missing(folder):
        figures.append(Figure("`engram --version`", more="skipped: engram.cli.main cannot be imported"))
    else:
        spent = steady("`engram --version`", lambda: _starts(folder, runs, "-c", _CLI, "--version"))
        figures.append(against(timed("`engram --version`", spent), spent.cpu_ms, 30, "CPU-ms"))
    return Group("Start", figures)


def _starts(folder: str, runs: int, *arguments: str) -> Cost:
    return median([run([sys.executable, *arguments], folder).cost for _ in range(runs)])


def _measure_size(folder: str, count: int, runs: int, steady: Steady) -> Group:
    plain = _plain_store(folder, count)
    dedicated = dedicated_store(folder, count)
    parts: dict[str, Callable[[], list[Figure]]] = {
        "rebuild": lambda: _measure_rebuild(plain, count, runs),
        "freshness": lambda: _measure_freshness(plain, runs),
        "changes": lambda: _measure_changes(plain, count, runs),
        "warm queries": lambda: _measure_warm(plain, count, runs),
        "cold queries": lambda: _measure_cold_queries(plain, count, runs),
        "hooks": lambda: _measure_hooks(plain, runs),
        "recording": lambda: _measure_record(dedicated, runs),
        "cold recording": lambda: _measure_cold_record(dedicated, runs),
    }
    figures = []
    for name, measure in parts.items():
        say(f"{count:,} entries: {name}")
        figures += steady(f"{name} at {count:,}", measure)
    return Group(f"{count:,} entries", figures)


def _measure_rebuild(root: str, count: int, runs: int) -> list[Figure]:
    rebuilds = [_run_task("rebuild", root, runs) for _ in range(min(3, runs))]
    spent = median([Cost(*found["cost"]) for found in rebuilds])
    peak = max(found["peak_mb"] for found in rebuilds)
    per_entry = f"{spent.cpu_ms * 1000 / count:.0f} CPU-µs an entry"
    seconds = timed("Rebuild the index", spent, per_entry)
    if count >= 10_000:  # in a small store, most of it is loading the model
        seconds = against(seconds, spent.cpu_ms, 0.25 * count, "CPU-ms")
    memory = against(Figure("Rebuild: peak memory", more=f"{peak:.0f} MB"), peak, 700, "MB")
    return [seconds, memory, Figure("Index on disk", more=f"{rebuilds[0]['disk_mb']:.1f} MB")]


def _measure_freshness(root: str, runs: int) -> list[Figure]:
    found = _run_task("freshness", root, runs)
    inotify = Cost(*found["told"])
    return [
        against(
            timed("Nothing changed: told by the system (a program that asks again)", inotify),
            inotify.wall_ms,
            1,
            "ms",
        ),
        timed("Nothing changed: every folder looked at (the first question)", Cost(*found["folders"])),
        timed("Nothing changed: every file looked at (`refresh`)", Cost(*found["sweep"])),
    ]


def _measure_changes(root: str, count: int, runs: int) -> list[Figure]:
    found = {name: Cost(*cost) for name, cost in _run_task("changed", root, runs).items()}
    names = {
        "replaced": "Searchable: 1 file edited (replaced)",
        "rewritten": "Searchable: 1 file edited in place (told by the system)",
        "new": "Searchable: 1 new file",
        "deleted": "Gone from answers: 1 deleted file",
    }
    figures = [against(timed(name, found[key]), found[key].wall_ms, 80, "ms") for key, name in names.items()]
    swept = timed("Searchable: 1 file edited in place (every file looked at)", found["swept"])
    if count <= 10_000:  # no one waits for a full scan of a larger store
        swept = against(swept, found["swept"].wall_ms, 80, "ms")
    return [*figures, swept, timed("Searchable: 100 files edited", found["many"])]


def _measure_warm(root: str, count: int, runs: int) -> list[Figure]:
    found = _run_task("warm", root, runs)
    hybrid, words = Cost(*found["hybrid"]), Cost(*found["words"])
    p99 = found["hybrid_p99"]
    middle = timed("Warm query, hybrid (p50)", hybrid)
    if count in (10_000, 100_000):
        middle = against(middle, hybrid.wall_ms, 2 if count == 10_000 else 8, "ms")
    return [
        middle,
        against(
            Figure("Warm query, hybrid (p99)", None, p99), p99, round(5 * hybrid.wall_ms, 2), "ms (5 × p50)"
        ),
        timed("Warm query, words only (p50)", words),
        Figure("Warm query, words only (p99)", None, found["words_p99"]),
        timed("First query of a process that is up", Cost(*found["first"])),
        Figure(
            f"Memory after {found['count']} queries",
            more=f"{found['resident_mb']:.0f} MB, mapped files included",
        ),
    ]


def _measure_cold_queries(root: str, count: int, runs: int) -> list[Figure]:
    if _cli_missing(root):
        return [Figure("`engram query`", more="skipped: engram.cli.main cannot be imported")]
    questions = generate.questions(runs, SEED + 1)
    hybrid = median([_run_engram(root, "query", text).cost for text in questions])
    words = median([_run_engram(root, "query", text, "--strategy", "words").cost for text in questions])
    whole = timed("`engram query`, hybrid, whole process", hybrid)
    if count >= 10_000:
        whole = against(whole, hybrid.cpu_ms, 250, "CPU-ms")
    return [
        whole,
        against(timed("`engram query --strategy words`, whole process", words), words.cpu_ms, 60, "CPU-ms"),
    ]


def _measure_hooks(root: str, runs: int) -> list[Figure]:
    """Measure the hooks that an agent calls most, with a different question in each run."""
    if _cli_missing(root):
        return [Figure("`engram hook`", more="skipped: engram.cli.main cannot be imported")]
    events: dict[str, Callable[[str], dict[str, Any]]] = {
        "prompt": lambda text: {"prompt": text},
        "pre-tool": lambda text: {"tool_name": "Bash", "tool_input": {"command": f"psql -c '{text}' db.sql"}},
        "tool-failure": lambda text: {
            "tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "error": f"RuntimeError: {text}"
        },
    }  # fmt: skip
    figures = []
    for event, describe in events.items():
        calls = [
            json.dumps({"session_id": text, "cwd": root, **describe(text)})
            for text in generate.questions(runs, SEED + 5)
        ]
        costs = [_run_engram(root, "hook", event, "--agent", "claude-code", text=call).cost for call in calls]
        figures.append(timed(f"`engram hook {event}`, whole process", median(costs)))
    return figures


def _measure_record(root: str, runs: int) -> list[Figure]:
    found = _run_task("record", root, runs)
    spent = Cost(*found["ack"])
    return [
        against(
            timed("Record acknowledged, in process (p50)", spent, "commits run beside it"),
            spent.wall_ms,
            10,
            "ms",
        ),
        Figure("Record acknowledged, in process (p99)", None, found["p99"], f"slowest {found['max']:.0f} ms"),
        timed(f"Commits left at close after {found['count']} records", Cost(*found["rest"])),
    ]


def _measure_cold_record(root: str, runs: int) -> list[Figure]:
    if _cli_missing(root):
        return [Figure("`engram record`", more="skipped: engram.cli.main cannot be imported")]
    writer = generate.Writer(SEED + 3)
    costs = []
    for _ in range(runs):
        lore = writer.lore(int.from_bytes(os.urandom(6)))
        costs.append(_run_engram(root, "record", lore.content, "--category", lore.category).cost)
        if runs > 1:
            time.sleep(_PAUSE_SECONDS)  # for the commit in the background process
    spent = median(costs)
    return [against(timed("`engram record`, whole process (p50)", spent), spent.wall_ms, 120, "ms")]


def _run_engram(folder: str, *arguments: str, text: str = "") -> Child:
    """Run the command line. Raises RuntimeError if it fails, as its figure would mean nothing."""
    child = run([sys.executable, "-c", _CLI, *arguments], folder, text)
    if child.code:
        raise RuntimeError(f"engram {' '.join(arguments)[:80]} failed ({child.code}): {child.errors[-500:]}")
    return child


def _cli_missing(folder: str) -> bool:
    return run([sys.executable, "-c", "import engram.cli.main"], folder).code != 0


def _run_task(name: str, root: str, runs: int) -> dict[str, Any]:
    program = os.path.join(ROOT, "benchmarks", "tasks.py")
    effort = "whole" if runs > 1 else "trial"
    child = run([sys.executable, program, name, root, effort], os.path.dirname(root))
    if child.code:
        raise RuntimeError(f"the task {name} failed ({child.code}): {child.errors[-2000:]}")
    result: dict[str, Any] = json.loads(child.output.splitlines()[-1])
    return result


def _plain_store(folder: str, count: int) -> str:
    root = os.path.join(folder, f"plain-{count}")
    if not os.path.exists(os.path.join(folder, f"plain-{count}.made")):
        say(f"{count:,} entries: generating")
        generate.generate(root, count, SEED)
        _mark_complete(folder, f"plain-{count}")
    return root


def dedicated_store(folder: str, count: int) -> str:
    from engram.usecases.opening.init import init

    root = os.path.join(folder, f"dedicated-{count}")
    if not os.path.exists(os.path.join(folder, f"dedicated-{count}.made")):
        say(f"{count:,} entries: generating the store with a repository of its own")
        init(root)
        write_lore(root, generate.lore_files(count, SEED))
        for command in (["add", "--all"], ["commit", "--quiet", "--message", "Generated lore"]):
            subprocess.run(["git", "-C", root, *command], check=True)
        _mark_complete(folder, f"dedicated-{count}")
    return root


def _mark_complete(folder: str, name: str) -> None:
    """Mark a store as complete, so that an interrupted one is not measured."""
    with open(os.path.join(folder, f"{name}.made"), "w", encoding="ascii") as file:
        file.write(f"seed {SEED}\n")


def count_of(text: str) -> int:
    """Convert `10k` to 10,000."""
    return int(text[:-1]) * 1000 if text.endswith("k") else int(text)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
