"""The rivals: how to install, fill, query and damage each, in a folder of its own, as its manual describes."""

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
from scratch_store import PYTHON_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = re.compile(r"\bn\d{6}\b")
_INSTALL_SECONDS = 900.0
_PREFIX_LENGTH = 50  # letters


class Note(NamedTuple):
    """A note: its key (`n000123`), by which it is found again in answers, and its text."""

    key: str
    text: str


def keys_in(text: str, most: int) -> list[str]:
    """Return the keys in an answer, in order, each once."""
    return list(dict.fromkeys(_KEY.findall(text)))[:most]


class Rival(ABC):
    """A program under test."""

    name = ""
    where = ""
    how = ""
    answers_by_tool = True
    extra_packages: Sequence[str] = ()

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """`installed` is the folder to install it in, `folder` an empty one for its data, `pythons` interpreters to try."""
        self.installed, self.folder, self.pythons = installed, folder, pythons
        self.environment = {
            "HOME": os.path.join(folder, "home"),
            "XDG_CACHE_HOME": os.path.join(folder, "cache"),
        }
        os.makedirs(self.environment["HOME"], exist_ok=True)

    def install(self) -> None:  # noqa: B027 - some need no installation
        """Install it. Raises PeerError."""

    def version(self) -> str:
        """Return the installed version."""
        return ""

    @abstractmethod
    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Import many notes. Raises PeerError."""

    def rebuild(self) -> Spent | None:
        """Rebuild the index from the notes; None if it cannot."""
        return None

    def serve(self) -> Server:
        """Start its MCP server."""
        raise PeerError("has no MCP server")

    @abstractmethod
    def add(self, server: Server | None, note: Note) -> None:
        """Add a note."""

    @abstractmethod
    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Return the keys of the best notes."""

    def ask_cold(self, question: str) -> Spent:
        """Ask a question without a running process: by its command if it has one, else by a server started for it."""
        with self.serve() as server:
            began = server.cpu_ms()
            self.search(server, question, 5)
            return Spent(max(server.cpu_ms(), began), 0.0)

    def index_files(self) -> list[str]:
        """Return the files of its index, which are to be damaged."""
        return []

    def forget(self) -> None:  # noqa: B027 - some have no state
        """Close what this process has open of it."""

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
    """A rival from PyPI, in a venv of its own, made by the first interpreter that it installs with."""

    def install(self) -> None:
        """Install it with pip into a venv. Raises PeerError."""
        if os.path.exists(self._tool("python")):
            return
        trouble = "no Python found"
        for python in self.pythons:
            shutil.rmtree(self.installed, ignore_errors=True)
            try:
                command([python, "-m", "venv", "--without-pip", self.installed], self.folder, {})
                pip = [sys.executable, "-m", "pip", "--python", self._tool("python"), "install", "--quiet"]
                command([*pip, self.where, *self.extra_packages], self.folder, {}, limit=_INSTALL_SECONDS)
                return
            except PeerError as error:
                trouble = str(error)
        shutil.rmtree(self.installed, ignore_errors=True)
        raise PeerError(f"cannot be installed: {trouble}")

    def version(self) -> str:
        """Return its version and that of the interpreter."""
        name = self.where.partition("[")[0]
        code = f"import sys, importlib.metadata as m; print(m.version({name!r}), '(Python %d.%d)' % sys.version_info[:2])"
        return command([self._tool("python"), "-c", code], self.folder, {}).output.strip()

    def _tool(self, name: str) -> str:
        return os.path.join(self.installed, "bin", name)


class NodeRival(Rival):
    """A rival from npm, below a prefix of its own."""

    def install(self) -> None:
        """Install it with npm. Raises PeerError."""
        if os.path.isdir(os.path.join(self.installed, "node_modules", *self.where.split("/"))):
            return
        os.makedirs(self.installed, exist_ok=True)
        npm = ["npm", "install", "--prefix", self.installed, "--no-audit", "--no-fund"]
        command([*npm, self.where, *self.extra_packages], self.folder, {}, limit=_INSTALL_SECONDS)

    def version(self) -> str:
        """Read the version from its package."""
        path = os.path.join(self.installed, "node_modules", *self.where.split("/"), "package.json")
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["version"])

    def _bin(self, name: str) -> str:
        return os.path.join(self.installed, "node_modules", ".bin", name)


class EngramPeer(Rival):
    """Engram itself: the command line for imports and cold questions, MCP for the rest."""

    name, how = "Engram", "hybrid, the bundled model; a dedicated store in git"

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """A store in `folder`."""
        super().__init__(installed, folder, pythons)
        self.environment |= {
            "PYTHONPATH": PYTHON_PATH, "ENGRAM_SESSION": "peers",
            "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@example.invalid", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@example.invalid",
        }  # fmt: skip
        self._root = os.path.join(folder, "store")
        self._keys: dict[str, str] = {}  # by all letters of a note, and by its first ones
        self._letters: dict[str, str] = {}  # by key

    def version(self) -> str:
        """Return the version of this checkout."""
        return command(
            [sys.executable, "-m", "engram", "--version"], self.folder, self.environment
        ).output.split()[-1]

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Run `engram import` on JSON lines."""
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
            self._remember(lore["content"], lore["tags"][0])
        return spent

    def rebuild(self) -> Spent:
        """Run `engram reindex --rebuild`."""
        return self._run("reindex", "--rebuild")

    def serve(self) -> Server:
        """Start `engram mcp`."""
        return Server(
            [sys.executable, "-m", "engram", "mcp", "--store", self._root], self._root, self.environment
        )

    def add(self, server: Server | None, note: Note) -> None:
        """Call the tool `recall_record`."""
        assert server is not None
        result = server.result("recall_record", content=note.text, category="FACT", tags=[note.key])
        assert result["structuredContent"]["id"]
        self._remember(note.text, note.key)

    def _remember(self, text: str, key: str) -> None:
        letters = _letters(text)
        self._keys[letters] = self._keys[letters[:_PREFIX_LENGTH]] = key
        self._letters[key] = letters

    def _key(self, shown: str) -> str:
        """Return the key for a text in an answer: a whole entry, a passage of it, or its title."""
        letters = _letters(shown)
        known = self._keys.get(letters) or self._keys.get(letters[:_PREFIX_LENGTH])
        if known:
            return known
        longest = max(map(_letters, re.split(r"\n|…", shown)), key=len)
        found = [key for key, note in self._letters.items() if longest in note]
        return min(
            found, key=lambda key: self._letters[key].index(longest), default=""
        )  # a title is a beginning

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `recall_query`."""
        assert server is not None
        result = server.result("recall_query", query=question, k=most)
        found = result["structuredContent"]
        named = [*(one["text"] for one in found.get("lore", [])), *found.get("also", {}).values()]
        return [self._key(text) for text in named][:most]

    def ask_cold(self, question: str) -> Spent:
        """Run `engram query`."""
        return self._run("query", question, "--json")

    def index_files(self) -> list[str]:
        """Return the files of the catalog, words and vectors."""
        state = os.path.join(self._root, ".git", "engram", "index")
        return [
            os.path.join(base, name)
            for base, _, names in os.walk(state)
            for name in names
            if os.path.getsize(os.path.join(base, name)) > 1 << 14
        ]

    def _run(self, *arguments: str) -> Spent:
        inline = {"ENGRAM_BACKGROUND": "inline"}  # work in a background process would not be counted
        return command([sys.executable, "-m", "engram", *arguments], self._root, self.environment | inline)


def _letters(text: str) -> str:
    """Return letters and digits only, without link targets: answers have other white space, and titles no targets."""
    return re.sub(r"[\W_]+", "", re.sub(r"\] ?\([^()\s]*\)", "", html.unescape(text)))


class Ripgrep(NodeRival):
    """ripgrep over the notes as files: the words of the question OR-ed, files with the most of them first."""

    name, where, how = "ripgrep", "@vscode/ripgrep", "words OR-ed, ordered here by how many a file holds"
    answers_by_tool = False

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Write the notes as files, which is all it needs."""
        self._write_notes(notes)
        return Spent(0.0, 0.0)

    def add(self, server: Server | None, note: Note) -> None:  # noqa: ARG002
        """Write a file."""
        self._write_note(os.path.join(self.folder, "notes"), note)

    def search(self, server: Server | None, question: str, most: int) -> list[str]:  # noqa: ARG002
        """Run it once."""
        return self._rank(self.ask_cold(question).output, most)

    def ask_cold(self, question: str) -> Spent:
        """Run it: it is always cold."""
        words = sorted(set(re.findall(r"\w{2,}", question.lower())))
        arguments = [self._rg(), "-i", "-o", "--no-heading", "-N", "|".join(words), "."]
        return command(arguments, self._notes, {}, expected=(0, 1))  # 1: nothing found

    @property
    def _notes(self) -> str:
        return os.path.join(self.folder, "notes")

    def _rg(self) -> str:
        for base, _, names in os.walk(os.path.join(self.installed, "node_modules", "@vscode")):
            if "rg" in names:
                return os.path.join(base, "rg")
        raise PeerError("its package holds no rg")

    def _rank(self, output: str, most: int) -> list[str]:
        words: dict[str, set[str]] = {}
        for line in output.splitlines():
            path, _, word = line.partition(":")
            words.setdefault(os.path.basename(path)[:-3], set()).add(word.lower())
        return sorted(words, key=lambda key: (-len(words[key]), key))[:most]


class SqliteFts5(Rival):
    """Bare SQLite FTS5: BM25 over porter-stemmed words, in this process."""

    name, how = "SQLite FTS5", "porter stemmer, BM25, words OR-ed; in process, no tool around it"
    answers_by_tool = False

    def __init__(self, installed: str, folder: str, pythons: Sequence[str]) -> None:
        """A database in `folder`."""
        super().__init__(installed, folder, pythons)
        self._connection: sqlite3.Connection | None = None

    def version(self) -> str:
        """Return the version of the library."""
        return sqlite3.sqlite_version

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Insert all notes in one process."""
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
        """Run the `rebuild` command of FTS5."""
        code = (
            "import sqlite3, sys; d = sqlite3.connect(sys.argv[1])\n"
            "d.execute(\"INSERT INTO notes(notes) VALUES ('rebuild')\"); d.commit()"
        )
        return command([sys.executable, "-c", code, self._path], self.folder, {})

    def add(self, server: Server | None, note: Note) -> None:  # noqa: ARG002
        """Insert and commit a note."""
        database = sqlite3.connect(self._path, timeout=30)
        with contextlib.closing(database), database:
            database.execute("INSERT INTO notes VALUES (?, ?)", note)

    def search(self, server: Server | None, question: str, most: int) -> list[str]:  # noqa: ARG002
        """Run a SELECT. Raises PeerError."""
        query = "SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT ?"
        try:
            self._connection = self._connection or sqlite3.connect(self._path, timeout=30)
            return [key for (key,) in self._connection.execute(query, (_match(question), most))]
        except sqlite3.Error as error:
            raise PeerError(str(error)) from None

    def ask_cold(self, question: str) -> Spent:
        """Ask once in a process of its own."""
        code = (
            "import sqlite3, sys; d = sqlite3.connect(sys.argv[1])\n"
            "print(d.execute('SELECT key FROM notes WHERE notes MATCH ? ORDER BY bm25(notes) LIMIT 5', sys.argv[2:]).fetchall())"
        )
        return command([sys.executable, "-c", code, self._path, _match(question)], self.folder, {})

    def index_files(self) -> list[str]:
        """Return the database."""
        return [self._path]

    def forget(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "fts.db")


def _match(question: str) -> str:
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
