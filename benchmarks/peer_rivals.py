"""The rivals: how to install, fill, query and break each. Each works in a folder of its own, as its manual describes."""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import shutil
import sqlite3
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from peer_process import PeerError, Server, Spent, command
from scratch_store import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(r"\bn\d{6}\b")
_INSTALL_SECONDS = 900.0
_BEGINNING = 50  # letters


class Note(NamedTuple):
    """A note: its key (`n000123`), by which it is found again in answers, and its text."""

    key: str
    text: str


def keys_in(text: str, most: int) -> list[str]:
    """The keys that an answer shows, in its order, each once."""
    return list(dict.fromkeys(_KEY.findall(text)))[:most]


class Rival(ABC):
    """One program under test. `None` of an answer means: it has no such thing."""

    name = ""
    where = ""
    how = ""
    answers_by_tool = True
    may_be_absent: Sequence[str] = ()

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """`installed` is where it is (to be) installed, `folder` an empty one for its data, `pythons` interpreters to try."""
        self.installed, self.folder, self.pythons = installed, folder, pythons
        self.environment = {
            "HOME": os.path.join(folder, "home"),
            "XDG_CACHE_HOME": os.path.join(folder, "cache"),
        }
        os.makedirs(self.environment["HOME"], exist_ok=True)

    def install(self) -> None:  # noqa: B027 - some need nothing
        """Install it. Raises PeerError."""

    def version(self) -> str:
        """The version that is installed."""
        return ""

    @abstractmethod
    def bring_in(self, notes: Sequence[Note]) -> Spent:
        """Import notes by the way for many. Raises PeerError."""

    def rebuild(self) -> Spent | None:
        """Make the index anew from the notes."""
        return None

    def serve(self) -> Server:
        """Start its MCP server."""
        raise PeerError("has no MCP server")

    @abstractmethod
    def add(self, server: Server | None, note: Note) -> None:
        """Add one note."""

    @abstractmethod
    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """The keys of the best notes."""

    def cold(self, question: str) -> Spent:
        """One question from nothing: by its command if it has one, else its server started for it."""
        with self.serve() as server:
            began = server.cpu_ms()
            self.search(server, question, 5)
            return Spent(max(server.cpu_ms(), began), 0.0)

    def index_files(self) -> list[str]:
        """The files of its index, for damaging them."""
        return []

    def forget(self) -> None:  # noqa: B027 - some keep nothing
        """Let go of what this process keeps of it."""

    def _write_notes(self, notes: Sequence[Note]) -> str:
        folder = os.path.join(self.folder, "notes")
        os.makedirs(folder, exist_ok=True)
        for note in notes:
            self._write_note(folder, note)
        return folder

    def _write_note(self, folder: str, note: Note) -> None:
        with open(os.path.join(folder, f"{note.key}.md"), "w", encoding="utf-8") as file:
            file.write(note.text + "\n")

    def _databases(self, under: str) -> list[str]:
        return [
            os.path.join(base, name)
            for base, _, names in os.walk(under)
            for name in names
            if name.endswith((".db", ".sqlite", ".sqlite3"))
        ]


class PythonRival(Rival):
    """One from PyPI, in a venv of its own, made by the first interpreter that it can be installed with."""

    also: Sequence[str] = ()

    def install(self) -> None:
        """A venv and pip. Raises PeerError."""
        if os.path.exists(self._tool("python")):
            return
        trouble = "no Python found"
        for python in self.pythons:
            shutil.rmtree(self.installed, ignore_errors=True)
            try:
                command([python, "-m", "venv", "--without-pip", self.installed], self.folder, {})
                pip = [
                    sys.executable,
                    "-m",
                    "pip",
                    "--python",
                    self._tool("python"),
                    "install",
                    "--quiet",
                    self.where,
                    *self.also,
                ]
                command(pip, self.folder, {}, limit=_INSTALL_SECONDS)
                return
            except PeerError as error:
                trouble = str(error)
        shutil.rmtree(self.installed, ignore_errors=True)
        raise PeerError(f"cannot be installed: {trouble}")

    def version(self) -> str:
        """As pip knows it, and of the interpreter."""
        name = self.where.partition("[")[0]
        code = f"import sys, importlib.metadata as m; print(m.version({name!r}), '(Python %d.%d)' % sys.version_info[:2])"
        return command([self._tool("python"), "-c", code], self.folder, {}).output.strip()

    def _tool(self, name: str) -> str:
        return os.path.join(self.installed, "bin", name)


class NodeRival(Rival):
    """One from npm, below a prefix of its own."""

    def install(self) -> None:
        """`npm install`. Raises PeerError."""
        if os.path.isdir(os.path.join(self.installed, "node_modules", *self.where.split("/"))):
            return
        os.makedirs(self.installed, exist_ok=True)
        names = [
            "npm",
            "install",
            "--prefix",
            self.installed,
            "--no-audit",
            "--no-fund",
            self.where,
            *self.may_be_absent,
        ]
        command(names, self.folder, {}, limit=_INSTALL_SECONDS)

    def version(self) -> str:
        """As its package says."""
        path = os.path.join(self.installed, "node_modules", *self.where.split("/"), "package.json")
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["version"])

    def _bin(self, name: str) -> str:
        return os.path.join(self.installed, "node_modules", ".bin", name)


class EngramPeer(Rival):
    """Engram itself, by the same driver: command line for imports and cold questions, MCP for the rest."""

    name, how = "Engram", "hybrid, the bundled model; a dedicated store in git"

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """A store in `folder`."""
        super().__init__(installed, folder, pythons)
        self.environment |= {
            "PYTHONPATH": os.pathsep.join([ROOT, os.path.join(ROOT, "tui")]), "ENGRAM_SESSION": "peers",
            "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@example.invalid", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@example.invalid",
        }  # fmt: skip
        self._root = os.path.join(folder, "store")
        self._keys: dict[str, str] = {}  # by the letters of a note, and by those it begins with
        self._letters: dict[str, str] = {}  # of each note

    def version(self) -> str:
        """That of this tree."""
        return command(
            [sys.executable, "-m", "engram", "--version"], self.folder, self.environment
        ).output.split()[-1]

    def bring_in(self, notes: Sequence[Note]) -> Spent:
        """`engram import` of JSON lines."""
        if not os.path.isdir(self._root):
            os.makedirs(self._root)
            self._run("init")
        path = os.path.join(self.folder, "notes.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            for note in notes:
                line = {"content": note.text, "category": "FACT", "tags": [note.key]}
                file.write(json.dumps(line) + "\n")
        spent = self._run("import", path)
        for line in self._run("export", "--format", "jsonl").output.splitlines():
            lore = json.loads(line)
            self._know(lore["content"], lore["tags"][0])
        return spent

    def rebuild(self) -> Spent:
        """`engram reindex --rebuild`."""
        return self._run("reindex", "--rebuild")

    def serve(self) -> Server:
        """`engram mcp`."""
        return Server(
            [sys.executable, "-m", "engram", "mcp", "--store", self._root], self._root, self.environment
        )

    def add(self, server: Server | None, note: Note) -> None:
        """The tool `recall_record`."""
        assert server is not None
        result = server.result("recall_record", content=note.text, category="FACT", tags=[note.key])
        assert result["structuredContent"]["id"]
        self._know(note.text, note.key)

    def _know(self, text: str, key: str) -> None:
        letters = _letters(text)
        self._keys[letters] = self._keys[letters[:_BEGINNING]] = key
        self._letters[key] = letters

    def _key(self, shown: str) -> str:
        """The key of what an answer shows: an entry whole, the passage of it that answers, or its title."""
        letters = _letters(shown)
        known = self._keys.get(letters) or self._keys.get(letters[:_BEGINNING])
        if known:
            return known
        longest = max(map(_letters, re.split(r"\n|…", shown)), key=len)
        found = [key for key, note in self._letters.items() if longest in note]
        return min(
            found, key=lambda key: self._letters[key].index(longest), default=""
        )  # a title is a beginning

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """The tool `recall_query`."""
        assert server is not None
        result = server.result("recall_query", query=question, k=most)
        found = result["structuredContent"]
        named = [*(one["text"] for one in found.get("lore", [])), *found.get("also", {}).values()]
        return [self._key(text) for text in named][:most]

    def cold(self, question: str) -> Spent:
        """`engram query`."""
        return self._run("query", question, "--json")

    def index_files(self) -> list[str]:
        """Catalog, words and vectors of the generation in use."""
        state = os.path.join(self._root, ".git", "engram", "index")
        return [
            os.path.join(base, name)
            for base, _, names in os.walk(state)
            for name in names
            if os.path.getsize(os.path.join(base, name)) > 1 << 14
        ]

    def _run(self, *arguments: str) -> Spent:
        inline = {"ENGRAM_BACKGROUND": "inline"}  # nothing is left to a process that would not be counted
        return command([sys.executable, "-m", "engram", *arguments], self._root, self.environment | inline)


def _letters(text: str) -> str:
    """The letters and digits alone, without the addresses of links: an answer has spaces of its own, and titles no addresses."""
    return re.sub(r"[\W_]+", "", re.sub(r"\] ?\([^()\s]*\)", "", html.unescape(text)))


class Ripgrep(NodeRival):
    """ripgrep over the notes as files: the words of the question OR-ed, files with most of them first."""

    name, where, how = "ripgrep", "@vscode/ripgrep", "words OR-ed, ordered here by how many a file holds"
    answers_by_tool = False

    def bring_in(self, notes: Sequence[Note]) -> Spent:
        """Files are all it needs."""
        self._write_notes(notes)
        return Spent(0.0, 0.0)

    def add(self, server: Server | None, note: Note) -> None:  # noqa: ARG002
        """One more file."""
        self._write_note(os.path.join(self.folder, "notes"), note)

    def search(self, server: Server | None, question: str, most: int) -> list[str]:  # noqa: ARG002
        """One run."""
        return self._ordered(self.cold(question).output, most)

    def cold(self, question: str) -> Spent:
        """The same: it is always cold."""
        words = sorted(set(re.findall(r"\w{2,}", question.lower())))
        arguments = [self._rg(), "-i", "-o", "--no-heading", "-N", "|".join(words), "."]
        return command(arguments, self._notes, {}, good=(0, 1))  # 1: nothing found

    @property
    def _notes(self) -> str:
        return os.path.join(self.folder, "notes")

    def _rg(self) -> str:
        for base, _, names in os.walk(os.path.join(self.installed, "node_modules", "@vscode")):
            if "rg" in names:
                return os.path.join(base, "rg")
        raise PeerError("its package holds no rg")

    def _ordered(self, output: str, most: int) -> list[str]:
        words: dict[str, set[str]] = {}
        for line in output.splitlines():
            path, _, word = line.partition(":")
            words.setdefault(os.path.basename(path)[:-3], set()).add(word.lower())
        return sorted(words, key=lambda key: (-len(words[key]), key))[:most]


class SqliteFts5(Rival):
    """SQLite FTS5 alone: BM25 over porter-stemmed words, from this Python."""

    name, how = "SQLite FTS5", "porter stemmer, BM25, words OR-ed; in process, no tool around it"
    answers_by_tool = False

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """A database in `folder`."""
        super().__init__(installed, folder, pythons)
        self._connection: sqlite3.Connection | None = None

    def version(self) -> str:
        """Of the library."""
        return sqlite3.sqlite_version

    def bring_in(self, notes: Sequence[Note]) -> Spent:
        """One process that inserts all."""
        path = os.path.join(self.folder, "notes.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(notes, file)
        code = (
            "import json, sqlite3, sys; d = sqlite3.connect(sys.argv[1])\n"
            "d.execute(\"CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(key UNINDEXED, text, tokenize='porter')\")\n"
            "d.executemany('INSERT INTO notes VALUES (?, ?)', json.load(open(sys.argv[2]))); d.commit()"
        )
        return command([sys.executable, "-c", code, self._path, path], self.folder, {})

    def rebuild(self) -> Spent:
        """FTS5's own."""
        code = (
            "import sqlite3, sys; d = sqlite3.connect(sys.argv[1])\n"
            "d.execute(\"INSERT INTO notes(notes) VALUES ('rebuild')\"); d.commit()"
        )
        return command([sys.executable, "-c", code, self._path], self.folder, {})

    def add(self, server: Server | None, note: Note) -> None:  # noqa: ARG002
        """One insert, committed."""
        database = sqlite3.connect(self._path, timeout=30)
        with contextlib.closing(database), database:
            database.execute("INSERT INTO notes VALUES (?, ?)", note)

    def search(self, server: Server | None, question: str, most: int) -> list[str]:  # noqa: ARG002
        """One SELECT."""
        query = "SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT ?"
        try:
            self._connection = self._connection or sqlite3.connect(self._path, timeout=30)
            return [key for (key,) in self._connection.execute(query, (_match(question), most))]
        except sqlite3.Error as error:
            raise PeerError(str(error)) from None

    def cold(self, question: str) -> Spent:
        """A Python that asks once."""
        code = (
            "import sqlite3, sys; d = sqlite3.connect(sys.argv[1])\n"
            "print(d.execute('SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT 5', sys.argv[2:]).fetchall())"
        )
        return command([sys.executable, "-c", code, self._path, _match(question)], self.folder, {})

    def index_files(self) -> list[str]:
        """The database."""
        return [self._path]

    def forget(self) -> None:
        """Close it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "fts.db")


def _match(question: str) -> str:
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
