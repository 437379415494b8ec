"""Dense retrieval sets, each about one subject, made from the documentation on this machine; none of it is in git.

`git`: the descriptions of options in the manual pages (GPL-2, Debian's git-man or any installation of git's manual), queried
by the different words of `git COMMAND -h`. `stdlib`: docstrings of Python's standard library (PSF license), queried by
their first sentence, which is left out of the entry. `python benchmarks/dense_sets.py` prints their sizes.
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
ASKED = 400  # most questions of a set
LEFT_OUT = 4  # one in four entries with a question is left out, so that nothing answers it
_LONGEST = 1200  # characters of an entry; a longer one is cut, at the end of a paragraph if possible
_SHORTEST = 60
_FEWEST_WORDS, _MOST_WORDS = 4, 30
_HELP_SECONDS = 2
_GRAPHICAL = ("citool", "gui", "instaweb")  # these open a window

_ESCAPES = re.compile(r"\\f.|\\&|\\m\[[^\]]*\]|\\s[-+]?\d|\\\|")
_CHARACTERS = {
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
_HELP_LINE = re.compile(r"^    (?=-)(\S(?:.*?\S)??)(?:\s{2,}(\S.*)|\n {10,}(\S.*))$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n")
_SKIPPED = {
    "__pycache__", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests",
    "turtledemo",
}  # fmt: skip


class Described(NamedTuple):
    """A documented item: its key, its text, and a question about it ("" for none)."""

    key: str
    text: str
    question: str


def git() -> list[Described]:
    """Collect the options and settings of git; none if its manual is not installed."""
    pages = {os.path.basename(path).split(".1")[0]: path for path in _pages()}
    commands = [page.removeprefix("git-") for page in pages if page.startswith("git-")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        helps = dict(zip(commands, pool.map(_help, commands), strict=True))
    shared = Counter(description.lower() for options in helps.values() for description in options.values())
    found: dict[str, Described] = {}
    for page, path in pages.items():
        command = page.removeprefix("git-")
        for term, body in options_of(path):
            option = next(iter(_OPTION.findall(term)), "")
            text = f"git {command}: {term}\n\n{body}"
            description = helps.get(command, {}).get(option, "")
            is_own = (
                shared[description.lower()] == 1
            )  # otherwise the same option of another command may answer
            question = _option_question(command, description, body, len(found)) if is_own else ""
            found.setdefault(body[:_SHORTEST], Described(f"{page} {term}", text, question))
    return list(found.values())


def stdlib() -> list[Described]:
    """Collect the functions, methods and classes of the standard library whose docstrings have more than a sentence."""
    found: dict[str, Described] = {}
    for name, docstring in docstrings(sysconfig.get_path("stdlib")):
        first, *rest = _SENTENCE.split(docstring.strip(), maxsplit=1)
        body = _shorten(rest[0]) if rest else ""
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
    """Draw a set of `size` entries from the pool, with one in four of those with a question left out.

    Raises ValueError if the pool is too small.
    """
    chance = random.Random(seed)
    shuffled = chance.sample(pool, len(pool))
    questioned = [item for item in shuffled if item.question][: min(asked, size)]
    left_out = {item.key for item in questioned[::LEFT_OUT]}
    chosen = [item for item in questioned if item.key not in left_out]
    queries = {item.key: item.question for item in questioned}
    chosen += [item for item in shuffled if item.key not in queries][: size - len(chosen)]
    if len(chosen) < size:
        raise ValueError(f"{name} has {len(pool)} entries, too few for a store of {size}")
    documents = [Document(item.key, item.text) for item in chosen]
    judged = {item.key: {} if item.key in left_out else {item.key: 1} for item in questioned}
    return retrieval_set.assemble(f"{name} {size:,}", documents, queries, judged, {})


def _pages() -> list[str]:
    folders = ["/usr/share/man", *_git_man_folders()]
    found = [path for folder in folders for path in sorted(glob.glob(f"{folder}/man1/git-*.1*"))]
    return list({os.path.basename(path): path for path in found}.values())


def _git_man_folders() -> list[str]:
    done = subprocess.run(["git", "--man-path"], capture_output=True, text=True, check=False)
    return [done.stdout.strip()] if done.returncode == 0 and done.stdout.strip() else []


def _read(path: str) -> str:
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return str(file.read())
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def options_of(path: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of a manual page's lists with their descriptions. Raises OSError."""
    term: list[str] | None = None
    body, depth = list[str](), 0
    for line in _read(path).splitlines():
        if depth:
            depth += line.startswith(".RS") - line.startswith(".RE")
            if depth:
                body.append(line)
                continue
            text = _shorten(_plain(body))
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
    """Return text without roff markup, with a blank line between paragraphs."""
    parts = ["\n\n" if line.startswith((".sp", ".PP")) else line for line in lines if _is_text(line)]
    text = _ESCAPES.sub("", "\n".join(parts))
    for mark, letter in _CHARACTERS.items():
        text = text.replace(mark, letter)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return "\n\n".join(filter(None, paragraphs))


def _is_text(line: str) -> bool:
    return not line.startswith((".", "'")) or line.startswith((".sp", ".PP"))


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST:
        return text.strip()
    head = text[:_LONGEST]
    return head[: max(head.rfind("\n\n"), head.rfind(". ") + 1, _LONGEST // 2)].strip()


def _help(command: str) -> dict[str, str]:
    """Return the description of each long option in `git COMMAND -h`."""
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
    for option, same_line, next_line in _HELP_LINE.findall(done.stdout + done.stderr):
        for name in _OPTION.findall(option):
            found[name] = " ".join((same_line or next_line).split())
    return found


def _option_question(command: str, description: str, body: str, number: int) -> str:
    if len(description.split()) < _FEWEST_WORDS or description.lower() in body.lower():
        return ""
    return (
        f"how do I get git {command} to {description}",
        f"git {command} should {description}, which option is that",
        f"{description} when running git {command}",
    )[number % 3]


def docstrings(root: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and docstring of each definition below a folder; modules are parsed, not imported."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in _SKIPPED and name.isidentifier())
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    tree = ast.parse(file.read())
            except (SyntaxError, ValueError, OSError):
                continue
            module = os.path.relpath(os.path.join(folder, name), root)[: -len(".py")].replace(os.sep, ".")
            yield from _definitions(tree, module.removesuffix(".__init__"))


def _definitions(tree: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            dotted = f"{name}.{node.name}"
            docstring = ast.get_docstring(node)
            if docstring and "._" not in dotted:
                yield dotted, docstring
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node, dotted)


if __name__ == "__main__":
    for subject, collect in SUBJECTS.items():
        pool = collect()
        asked = [one for one in pool if one.question]
        sys.stdout.write(f"{subject}: {len(pool):,} entries, {len(asked):,} questions\n")
        for one in asked[:: max(1, len(asked) // 5)]:
            sys.stdout.write(f"  {one.question}\n    {' '.join(one.text.split())[:160]}\n")
