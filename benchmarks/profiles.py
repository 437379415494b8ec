"""Show where the time of each hot path goes: `python benchmarks/profiles.py [--size 10k] [--only NAMES]`.

Profiles by processor time (cProfile), so other programs do not show. The figure of a path is measured without the profiler,
which slows Python functions more than the C functions they call; the shares are of the profiled run.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import generate
from measuring import Cost, median, run
from run import compile_all, count_of, dedicated_store
from scratch_store import PYTHON_PATH, ROOT, isolate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.app import Engram

SEED = 1
_MOST_PARTS = 8
_QUESTIONS = 200
_RUNS = 5
_SMALLEST_SHARE = 0.02
_PARTS = {
    "engram/adapters/embed": "embedding",
    "engram/adapters/index/words": "words (tantivy)",
    "engram/adapters/index/vectors": "vectors",
    "engram/adapters/index/plain_cosines": "vectors",
    "engram/adapters/numeric": "vectors",
    "engram/adapters/int8_products": "vectors",
    "engram/adapters/index": "catalog (SQLite)",
    "engram/adapters/state": "state (SQLite)",
    "engram/adapters/files": "files and their format",
    "engram/adapters/git": "git",
    "engram/domain/admission/secret": "secret check",
    "engram/domain/admission/token_shapes": "secret check",
    "engram/domain/admission": "what others claim",
    "engram/usecases/admission": "what others claim",
    "engram/domain/entry": "files and their format",
    "engram/domain/text": "languages and passages",
    "engram/usecases/index": "what changed",
    "engram/usecases/recall": "ranking",
    "engram/domain/recall": "ranking",
    "engram/cli": "command line",
}
_COLD = """
import cProfile, sys, time
profile = cProfile.Profile(time.process_time)
profile.enable()
from engram.cli.main import main
try:
    main(sys.argv[2:])
finally:
    profile.disable()
    profile.dump_stats(sys.argv[1])
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="10k", help="lore in the store (default: %(default)s)")
    parser.add_argument("--only", default="", help="names of paths, comma-separated (default: all)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="engram-profiles-", ignore_cleanup_errors=True) as temporary:
        isolate(os.path.join(temporary, "home"))
        os.environ["PYTHONPATH"] = PYTHON_PATH
        compile_all()
        root = dedicated_store(temporary, count_of(options.size))
        for name, profiled in _paths(root, temporary).items():
            if not options.only or name in options.only.split(","):
                print(profiled(name), flush=True)
    return 0


def _paths(root: str, temporary: str) -> dict[str, Callable[[str], str]]:
    questions = generate.questions(_QUESTIONS + 20, SEED + 1)

    def warm(name: str, work: Callable[[Engram], object], times: int) -> str:
        with _open(root) as engram:
            engram.refresh()
            for question in questions[:20]:
                engram.query(question)
            return _in_process(name, lambda: work(engram), times)

    def cold(name: str, *words: str) -> str:
        return _whole_process(name, root, temporary, *words)

    asked = questions[20:]
    return {
        "rebuild": lambda name: warm(name, _rebuild, 1),
        "refresh, nothing changed": lambda name: warm(name, lambda engram: engram.refresh(), 1),
        "warm question, hybrid": lambda name: warm(
            name, lambda e: [e.query(one) for one in asked], len(asked)
        ),
        "warm question, words": lambda name: warm(
            name, lambda e: [e.query(one, strategy="words") for one in asked], len(asked)
        ),
        "cold question, words": lambda name: cold(name, "query", asked[0], "--strategy", "words"),
        "cold question, hybrid": lambda name: cold(name, "query", asked[0]),
        "record": lambda name: cold(name, "record", "The relay waits for its queue.", "--category", "FACT"),
        "sync, nothing to do": lambda name: cold(name, "sync"),
    }


def _rebuild(engram: Engram) -> None:
    from engram.usecases.index.refresh import refresh

    refresh(engram.store, rebuild="profile")


def _open(root: str) -> Engram:
    import engram

    return engram.open(root)


def _in_process(name: str, work: Callable[[], object], times: int) -> str:
    began = time.process_time()
    work()
    plain = (time.process_time() - began) * 1000 / times
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    work()
    profile.disable()
    return _table(name, plain, pstats.Stats(profile))


def _whole_process(name: str, root: str, temporary: str, *words: str) -> str:
    if words[0] == "sync":
        _with_remote(root, temporary)
    code = "from engram.cli.main import run; run()"
    costs = [run([sys.executable, "-c", code, *words], root).cost for _ in range(_RUNS)]
    dump = os.path.join(temporary, "profile")
    subprocess.run(
        [sys.executable, "-c", _COLD, dump, *words], cwd=root, stdout=subprocess.DEVNULL, check=True
    )
    spent: Cost = median(costs)
    return _table(name, spent.cpu_ms, pstats.Stats(dump))


def _with_remote(root: str, temporary: str) -> None:
    remote = os.path.join(temporary, "remote.git")
    if not os.path.exists(remote):
        subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
        subprocess.run(["git", "-C", root, "remote", "add", "origin", remote], check=True)
        engram = [sys.executable, "-m", "engram", "sync"]
        subprocess.run(engram, cwd=root, check=True, stdout=subprocess.DEVNULL)


def _table(name: str, plain_ms: float, stats: pstats.Stats) -> str:
    """Return the figure of a path, and the share of each part in its profile with its most expensive function."""
    own: dict[str, float] = {}
    largest: dict[str, tuple[float, str]] = {}
    for (file, _, function), (_, _, seconds, _, callers) in stats.stats.items():  # type: ignore[attr-defined]
        shares = {key: part[2] for key, part in callers.items()} if file == "~" and callers else {}
        for (caller_file, _, caller), spent in (shares or {(file, 0, function): seconds}).items():
            part = _part(caller_file, caller, function)
            own[part] = own.get(part, 0.0) + spent
            largest[part] = max(largest.get(part, (0.0, "")), (spent, _function_name(file, function)))
    total = sum(own.values())
    lines = [f"**{name}**: {plain_ms:,.2f} CPU-ms", "", "| Share | Part | most of it |", "|---:|---|---|"]
    largest_parts = sorted(own, key=own.__getitem__, reverse=True)[:_MOST_PARTS]
    lines += [
        f"| {100 * own[part] / total:.0f} % | {part} | `{largest[part][1]}` |"
        for part in largest_parts
        if own[part] >= _SMALLEST_SHARE * total
    ]
    return "\n".join(lines) + "\n"


def _part(file: str, caller: str, function: str) -> str:
    """Return the part of the program that a function's own time counts for."""
    if "importlib" in file or caller == "<module>" or "marshal" in function or "build_class" in function:
        return "imports"
    relative = file.rpartition(f"{ROOT}{os.sep}")[2].replace(os.sep, "/")
    for prefix, part in _PARTS.items():
        if relative.startswith(prefix):
            return part
    return "libraries" if not relative.startswith("engram/") else "the rest of Engram"


def _function_name(file: str, function: str) -> str:
    if file == "~":
        return function.strip("<>").replace("built-in method ", "").replace("|", "/")
    return f"{os.path.basename(file)} {function}"


if __name__ == "__main__":
    sys.exit(main())
