"""Mutation testing: change modules in one small way at a time, and see whether the tests notice.

    nice python tools/mutate.py engram/domain/recall/ranking.py --tests tests/recall/test_ranking.py

A mutant that survives is a behaviour without a test, or an equivalent: no input can tell it apart. All of it happens in
a copy of the tree with an environment of its own, so programs that tests start are mutated too. `--results` remembers
what was killed; a second run tries the rest.

mutmut and cosmic-ray were tried first. Neither deletes statements (a missing `os.fsync`); mutmut neither changes
constants of modules nor reaches programs that tests start; cosmic-ray starts pytest anew for each mutant. Here each
mutant is a fork of one process that has imported the libraries.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
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
DELETED = (ast.Expr, ast.Raise, ast.Break, ast.Continue, ast.Delete, ast.AugAssign)


class Mutant(NamedTuple):
    """One change of a module: the bytes from `start` to `end` become `text`."""

    module: str
    line: int
    start: int
    end: int
    text: str


def variants(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yields a node, or a part of it, with what stands in its place in a mutant."""
    match node:
        case ast.Compare(left, [operator], right):
            yield from ((node, ast.Compare(left, [swap()], right)) for swap in SWAPS[type(operator)])
        case ast.BoolOp(operator, values):
            yield from ((node, ast.BoolOp(swap(), values)) for swap in SWAPS[type(operator)])
        case ast.BinOp(left, operator, right):
            yield from ((node, ast.BinOp(left, swap(), right)) for swap in SWAPS.get(type(operator), ()))
        case ast.UnaryOp(ast.Not(), operand):
            yield node, operand
        case ast.Constant(bool(value) | int(value) | float(value)):
            yield (
                node,
                ast.Constant(
                    not value
                    if isinstance(value, bool)
                    else value * 1.1 + 0.01
                    if isinstance(value, float)
                    else value + 1
                ),
            )
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield node, ast.Return(ast.Constant(None))
        case ast.comprehension(ifs=tests):
            yield from ((test, ast.Constant(True)) for test in tests)
        case ast.If(test) | ast.IfExp(test) | ast.While(test) if isinstance(
            test, ast.Name | ast.Call | ast.Attribute
        ):
            yield test, ast.UnaryOp(ast.Not(), test)
    is_stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_stored or (isinstance(node, DELETED) and not is_text):
        yield node, ast.Pass()


def code(node: ast.AST) -> Iterator[ast.AST]:
    """Yields a node and those within it that say what happens: neither annotations nor imports for types."""
    match node:
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.keyword("strict"):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            inner = [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]
        case ast.AnnAssign():
            inner = [node.value] if node.value else []
        case _:
            inner = list(ast.iter_child_nodes(node))
    yield node
    for child in inner:
        yield from code(child)


def mutants_of(module: str) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    raw = Path(module).read_bytes()
    starts = [0, 0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for place, variant in (pair for node in code(ast.parse(raw)) for pair in variants(node)):
        text = ast.unparse(variant)
        text = f"({text})" if isinstance(variant, ast.expr) else text
        start, end = starts[place.lineno] + place.col_offset, starts[place.end_lineno] + place.end_col_offset
        found.append(Mutant(module, place.lineno, start, end, text))
    return sorted(found, key=lambda mutant: mutant.start)


def run(tests: list[str], seconds: float) -> bool:
    """Runs tests in a fork of this process; says whether all passed in so many seconds."""
    process = os.fork()
    if process == 0:
        import pytest

        os.setsid()
        log = os.open(".mutate.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(log, stream)
        os._exit(pytest.main([*PYTEST, *tests]))
    end = time.monotonic() + seconds
    status = 1
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):  # also what a test left behind
        os.killpg(process, signal.SIGKILL)
    if not done:
        os.waitpid(process, 0)
    return bool(done) and status == 0


def work(options: argparse.Namespace) -> int:
    """Tries the mutants; the current folder is the copy of the tree."""
    for library in LIBRARIES:
        importlib.import_module(library)
    began = time.monotonic()
    if not run(options.tests, 600):
        sys.exit(Path(".mutate.log").read_text("utf-8")[-3000:] + "\nThe tests fail without any mutant.")
    took = time.monotonic() - began
    mutants = [mutant for module in options.modules for mutant in mutants_of(module)]
    chosen = sorted(random.Random(options.seed).sample(mutants, min(options.sample, len(mutants))))
    print(f"{len(chosen)} of {len(mutants)} mutants; the tests take {took:.1f} s", flush=True)
    results = Path(options.results)
    killed = set(results.read_text("utf-8").split()) if results.exists() else set()
    survivors = 0
    for number, mutant in enumerate(chosen):
        path = Path(mutant.module)
        raw = path.read_bytes()
        key = hashlib.sha256(repr(mutant).encode() + raw).hexdigest()
        if key in killed:
            continue
        path.write_bytes(raw[: mutant.start] + mutant.text.encode() + raw[mutant.end :])
        os.utime(
            path, (number, number)
        )  # or the byte code of a mutant of the same length and second would be used
        survived = run(options.tests, max(30, 8 * took))
        path.write_bytes(raw)
        survivors += survived
        if survived:
            before = raw[mutant.start : mutant.end].decode()
            print(f"survived {mutant.module}:{mutant.line}: {before}  ->  {mutant.text}", flush=True)
        else:
            with results.open("a", encoding="utf-8") as file:
                file.write(key + "\n")
    print(f"{len(chosen) - survivors} of {len(chosen)} killed")
    return int(survivors > 0)


def in_a_copy(folder: Path) -> int:
    """Does the work in a copy of the tree, by a Python that imports from the copy."""
    listed = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    packages = next((folder / ".venv").glob("lib/python*/site-packages"))
    paths = [str(folder), str(folder / "tui"), *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "copy.pth").write_text("\n".join(paths), "utf-8")
    command = [folder / ".venv/bin/python", __file__, *sys.argv[1:], "--copied"]
    return subprocess.run(command, cwd=folder, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of a few modules by a few tests.")
    parser.add_argument("modules", nargs="+")
    parser.add_argument(
        "--tests", nargs="+", required=True, help="the narrowest that should notice, as pytest names them"
    )
    parser.add_argument(
        "--sample", type=int, default=sys.maxsize, help="try only so many mutants, chosen by --seed"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=os.path.abspath, default=".mutate-results")
    parser.add_argument("--copied", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.copied:
        return work(options)
    sys.argv[1:] = [*sys.argv[1:], "--results", options.results]
    with tempfile.TemporaryDirectory() as folder:
        return in_a_copy(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
