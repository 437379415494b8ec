"""Dense retrieval sets, each about one subject, made from documentation that this machine has: nothing of it is in git.

`git`: what the manual pages say of each option (GPL-2, Debian's git-man or any installation of git's manual), asked in
the other words that `git COMMAND -h` has for it. `stdlib`: docstrings of Python's standard library (PSF license), asked by
their first sentence, which is left out of the entry. Print how large they are: `python benchmarks/dense_sets.py`.
"""

from __future__ import annotations

import ast
import glob
import gzip
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import retrieval_set
from retrieval_set import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from retrieval_set import RetrievalSet

SEED = 1
ASKED = 400  # questions of a set, at most
LEFT_OUT = 4  # one in so many of those asked about is left out: nothing answers it
_LONGEST = 1200  # characters of an entry; what is longer ends with a paragraph
_SHORTEST = 60
_FEWEST_WORDS, _MOST_WORDS = 4, 30
_HELP_SECONDS = 2
_GRAPHICAL = ("citool", "gui", "instaweb")  # they would open a window

_ESCAPES = re.compile(r"\\f.|\\&|\\m\[[^\]]*\]|\\s[-+]?\d|\\\|")
_SPELT = {
    r"\-": "-",
    r"\(aq": "'",
    r"\(oq": "'",
    r"\(cq": "'",
    r"\(lq": '"',
    r"\(rq": '"',
    r"\(em": "-",
    r"\*(Aq": "'",
    r"\(co": "(c)",
    r"\(bu": "-",
    r"\e": "\\",
    r"\ ": " ",
}
_OPTION = re.compile(r"--(?:\[no-\])?([a-z][a-z0-9-]+)")
_HELP = re.compile(r"^    (?=-)(\S(?:.*?\S)??)(?:\s{2,}(\S.*)|\n {10,}(\S.*))$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n")
_OUTSIDE = {
    "__pycache__", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests",
    "turtledemo",
}  # fmt: skip


class Described(NamedTuple):
    """A thing with its description, and what somebody asks who wants to know about it ("" for no question)."""

    key: str
    text: str
    question: str


def git() -> list[Described]:
    """The options and settings of git; none where its manual is not installed."""
    pages = {os.path.basename(path).split(".1")[0]: path for path in _pages()}
    commands = [page.removeprefix("git-") for page in pages if page.startswith("git-")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        helps = dict(zip(commands, pool.map(_help_of, commands), strict=True))
    shared = Counter(said.lower() for options in helps.values() for said in options.values())
    found: dict[str, Described] = {}
    for page, path in pages.items():
        command = page.removeprefix("git-")
        for term, body in options_of(path):
            option = next(iter(_OPTION.findall(term)), "")
            text = f"git {command}: {term}\n\n{body}"
            said = helps.get(command, {}).get(option, "")
            is_own = shared[said.lower()] == 1  # else the same option of another command may answer
            question = _option_question(command, said, body, len(found)) if is_own else ""
            found.setdefault(body[:_SHORTEST], Described(f"{page} {term}", text, question))
    return list(found.values())


def stdlib() -> list[Described]:
    """The functions, methods and classes of Python's standard library that say more than a sentence."""
    found: dict[str, Described] = {}
    for name, docstring in docstrings(sysconfig.get_path("stdlib")):
        first, *rest = _SENTENCE.split(docstring.strip(), maxsplit=1)
        body = _shortened(rest[0]) if rest else ""
        words = " ".join(first.split()).rstrip(".")
        if len(body) < _SHORTEST or not _FEWEST_WORDS <= len(words.split()) <= _MOST_WORDS:
            continue
        if not words.split()[0].isalpha():  # a signature
            continue
        question = f"{('how do I', 'which function will', 'I need to')[len(found) % 3]} {words[0].lower()}{words[1:]}"
        found.setdefault(words.lower(), Described(name, f"{name}\n\n{body}", question))
    return list(found.values())


SUBJECTS: Mapping[str, Callable[[], list[Described]]] = {"git": git, "stdlib": stdlib}


def draw(name: str, pool: list[Described], size: int, seed: int = SEED, asked: int = ASKED) -> RetrievalSet:
    """A set of `size` entries drawn from the pool; one in four of those asked about is then taken out of it.

    Raises ValueError where the pool is too small.
    """
    chance = random.Random(seed)
    shuffled = chance.sample(pool, len(pool))
    some = [one for one in shuffled if one.question][: min(asked, size)]
    gone = {one.key for one in some[::LEFT_OUT]}
    kept = [one for one in some if one.key not in gone]
    among = {one.key for one in some}
    kept += [one for one in shuffled if one.key not in among][: size - len(kept)]
    if len(kept) < size:
        raise ValueError(f"{name} has {len(pool)} entries, too few for a store of {size}")
    documents = [Document(one.key, one.text) for one in kept]
    queries = {one.key: one.question for one in some}
    judged = {one.key: {} if one.key in gone else {one.key: 1} for one in some}
    return retrieval_set.assemble(f"{name} {size:,}", documents, queries, judged, {})


def _pages() -> list[str]:
    folders = ["/usr/share/man", *_folders_of_git()]
    found = [path for folder in folders for path in sorted(glob.glob(f"{folder}/man1/git-*.1*"))]
    return list({os.path.basename(path): path for path in found}.values())


def _folders_of_git() -> list[str]:
    done = subprocess.run(["git", "--man-path"], capture_output=True, text=True, check=False)
    return [done.stdout.strip()] if done.returncode == 0 and done.stdout.strip() else []


def _read(path: str) -> str:
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return str(file.read())
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def options_of(path: str) -> Iterator[tuple[str, str]]:
    """The terms of a manual page's lists, each with its description. Raises OSError."""
    term: list[str] | None = None
    body, depth = list[str](), 0
    for line in _read(path).splitlines():
        if depth:
            depth += line.startswith(".RS") - line.startswith(".RE")
            if depth:
                body.append(line)
                continue
            text = _shortened(_plain(body))
            if term and len(text) >= _SHORTEST:
                yield _plain(term).replace("\n", " "), text
            term = None
        elif line.startswith(".PP"):
            term = []
        elif line.startswith(".RS") and term:
            body, depth = [], 1
        elif line.startswith("."):
            term = None
        elif term is not None:
            term.append(line)


def _plain(lines: list[str]) -> str:
    """Text without the marks of roff; paragraphs apart."""
    parts = ["\n\n" if line.startswith((".sp", ".PP")) else line for line in lines if _is_text(line)]
    text = _ESCAPES.sub("", "\n".join(parts))
    for mark, letter in _SPELT.items():
        text = text.replace(mark, letter)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return "\n\n".join(filter(None, paragraphs))


def _is_text(line: str) -> bool:
    return not line.startswith((".", "'")) or line.startswith((".sp", ".PP"))


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text.strip()
    head = text[:_LONGEST]
    return head[: max(head.rfind("\n\n"), head.rfind(". ") + 1, _LONGEST // 2)].strip()


def _help_of(command: str) -> dict[str, str]:
    """What `git COMMAND -h` says of each long option."""
    if command in _GRAPHICAL:
        return {}
    with tempfile.TemporaryDirectory() as empty:
        try:
            done = subprocess.run(
                ["git", command, "-h"],
                capture_output=True, text=True, check=False, cwd=empty, stdin=subprocess.DEVNULL, timeout=_HELP_SECONDS,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return {}
    found = {}
    for option, beside, below in _HELP.findall(done.stdout + done.stderr):
        for name in _OPTION.findall(option):
            found[name] = " ".join((beside or below).split())
    return found


def _option_question(command: str, said: str, body: str, number: int) -> str:
    if len(said.split()) < _FEWEST_WORDS or said.lower() in body.lower():
        return ""
    return (
        f"how do I get git {command} to {said}",
        f"git {command} should {said}, which option is that",
        f"{said} when running git {command}",
    )[number % 3]


def docstrings(root: str) -> Iterator[tuple[str, str]]:
    """The docstrings of all definitions below a folder, by their dotted names; modules are read, not imported."""
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(name for name in inside if name not in _OUTSIDE and name.isidentifier())
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    tree = ast.parse(file.read())
            except (SyntaxError, ValueError, OSError):
                continue
            module = os.path.relpath(os.path.join(folder, name), root)[: -len(".py")].replace(os.sep, ".")
            yield from _inside(tree, module.removesuffix(".__init__"))


def _inside(tree: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            dotted = f"{name}.{node.name}"
            docstring = ast.get_docstring(node)
            if docstring and "._" not in dotted:
                yield dotted, docstring
            if isinstance(node, ast.ClassDef):
                yield from _inside(node, dotted)


if __name__ == "__main__":
    for subject, made in SUBJECTS.items():
        pool = made()
        asked = [one for one in pool if one.question]
        sys.stdout.write(f"{subject}: {len(pool):,} entries, {len(asked):,} questions\n")
        for one in asked[:: max(1, len(asked) // 5)]:
            sys.stdout.write(f"  {one.question}\n    {' '.join(one.text.split())[:160]}\n")
