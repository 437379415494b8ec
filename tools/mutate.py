"""Mutation testing: make one small change to modules at a time, and see whether the tests notice.

    nice python tools/mutate.py engram/domain/recall/ranking.py --tests tests/recall/test_ranking.py

A mutant that survives is a behaviour without a test, or an equivalent that no input can tell apart. Runs in a copy of the
tree with an environment of its own, so that programs started by tests are mutated too. A second run only tries the mutants
that survived the first. Neither mutmut nor cosmic-ray deletes statements (a missing `os.fsync`), mutmut does not change
module constants, and cosmic-ray starts pytest again for each mutant.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KILLED = ROOT / ".mutate-results"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "dist")
LIBRARIES = ("hypothesis", "numpy", "pytest_asyncio", "tantivy", "usearch.index", "yaml")
PYTEST = ["-o", "addopts=--import-mode=importlib", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
PYTEST += ["-q", "-x", "--ff", "-p", "no:xdist", "--hypothesis-seed=0"]
SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
Mutant = tuple[
    str, int, int, int, str
]  # module, line, start and end byte, and the text that replaces these bytes


def mutations(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield a node, or a part of it, with its replacement in a mutant."""
    match node:
        case ast.Compare(ops=[operator]) | ast.BoolOp(op=operator) | ast.BinOp(op=operator):
            for swap in SWAPS.get(type(operator), ()):
                names = {"ops": [swap()]} if isinstance(node, ast.Compare) else {"op": swap()}
                yield node, type(node)(**{**vars(node), **names})
        case ast.UnaryOp(ast.Not(), operand):
            yield node, operand
        case ast.Constant(bool(value) | int(value) | float(value)):
            number = value * 1.1 + 0.01 if isinstance(value, float) else value + 1
            yield node, ast.Constant(not value if isinstance(value, bool) else number)
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield node, ast.Return(ast.Constant(None))
        case ast.comprehension(ifs=tests):
            yield from ((test, ast.Constant(True)) for test in tests)
        case ast.If(test) | ast.IfExp(test) if isinstance(test, ast.Name | ast.Call | ast.Attribute):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr(ast.Call()) | ast.Raise() | ast.Break() | ast.Continue() | ast.AugAssign():
            yield node, ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript(), *_]) | ast.Delete():
            yield node, ast.Pass()


def executable_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its descendants, without annotations and imports for types."""
    if not re.match("if TYPE_CHECKING|strict=", ast.unparse(node)):
        yield node
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if field not in ("annotation", "returns", "decorator_list") and isinstance(child, ast.AST):
                    yield from executable_nodes(child)


def mutants_of(module: str) -> list[Mutant]:
    """Return all mutants of a module, in order."""
    raw = Path(module).read_bytes()
    starts = [0, 0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for place, variant in (pair for node in executable_nodes(ast.parse(raw)) for pair in mutations(node)):
        text = f"({ast.unparse(variant)})" if isinstance(variant, ast.expr) else ast.unparse(variant)
        start, end = starts[place.lineno] + place.col_offset, starts[place.end_lineno] + place.end_col_offset
        found.append((module, place.lineno, start, end, text))
    return sorted(found, key=lambda mutant: mutant[2])


def passes(tests: list[str], seconds: float) -> bool:
    """Return whether tests pass within `seconds`, in a fork of this process."""
    process = os.fork()
    if process == 0:
        import pytest

        os.setsid()
        log = os.open(".mutate.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os._exit(pytest.main([*PYTEST, *tests]))
    end = time.monotonic() + seconds
    while not (ended := os.waitpid(process, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):  # also processes that a test left running
        os.killpg(process, signal.SIGKILL)
    return (ended if ended[0] else os.waitpid(process, 0)) == (process, 0)


def try_mutants(options: argparse.Namespace) -> None:
    """Try the mutants; the current folder is the copy of the tree."""
    for library in LIBRARIES:
        importlib.import_module(library)
    began = time.monotonic()
    if not passes(options.tests, 600):
        sys.exit(Path(".mutate.log").read_text("utf-8")[-3000:] + "\nThe tests fail without any mutant.")
    seconds = max(30, 8 * (time.monotonic() - began))
    mutants = [mutant for module in options.modules for mutant in mutants_of(module)]
    chosen = sorted(random.Random(options.seed).sample(mutants, min(options.sample, len(mutants))))
    KILLED.touch()
    killed = set(KILLED.read_text("utf-8").split())
    survivors = 0
    for number, mutant in enumerate(chosen):
        path, start, end, text = Path(mutant[0]), *mutant[2:]
        raw = path.read_bytes()
        key = hashlib.sha256(repr(mutant).encode() + raw).hexdigest()
        if key in killed:
            continue
        path.write_bytes(raw[:start] + text.encode() + raw[end:])
        os.utime(
            path, (number, number)
        )  # otherwise byte code of a mutant of the same size and time would be used
        survived = passes(options.tests, seconds)
        path.write_bytes(raw)
        if survived:
            survivors += 1
            print(f"survived {path}:{mutant[1]}: {raw[start:end].decode()}  ->  {text}", flush=True)
        else:
            with KILLED.open("a", encoding="utf-8") as file:
                print(key, file=file)
    print(f"{len(chosen) - survivors} killed of {len(chosen)} tried; there are {len(mutants)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Mutation testing of a few modules by a few tests.")
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--tests", nargs="+", required=True, help="the fastest tests that should notice")
    parser.add_argument(
        "--sample", type=int, default=sys.maxsize, help="try this number of mutants, chosen by --seed"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copied", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.copied:
        return try_mutants(options)
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o755)  # some tests run a program as another user
        copy = shutil.copytree(ROOT, Path(temporary, "copy"), ignore=NOT_COPIED, symlinks=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", copy / ".venv"], check=True)
        packages = next((copy / ".venv").glob("lib/python*/site-packages"))
        paths = [str(copy), str(copy / "tui"), *(path for path in sys.path if path.endswith("site-packages"))]
        (packages / "copy.pth").write_text("\n".join(paths), "utf-8")
        command = [copy / ".venv/bin/python", __file__, *sys.argv[1:], "--copied"]
        sys.exit(subprocess.run(command, cwd=copy, check=False).returncode)


if __name__ == "__main__":
    main()
