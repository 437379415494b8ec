"""More rivals: memory servers from PyPI and npm, each through its own tools."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from peer_process import PeerError, Server, Spent, command
from peer_rivals import NodeRival, Note, PythonRival, keys_in

if TYPE_CHECKING:
    from collections.abc import Sequence

_IMPORT_SECONDS = 60.0  # of processor
_COMMAND_SECONDS = 420.0


class AgentRecall(PythonRival):
    """agentrecall-db: one SQLite file; its model comes from a hub, so offline it searches words only."""

    name, where = "agentrecall-db", "agentrecall-db[all]"
    extra_packages = ("mcp<2",)  # the version it is written for
    how = "words alone (`--embeddings false`): its model would come from a hub"

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Run `agentrecall import`."""
        path = os.path.join(self.folder, "notes.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"content": note.text, "tags": [note.key]} for note in notes], file)
        return self._run("import", path)

    def serve(self) -> Server:
        """Start `agentrecall serve`."""
        return Server([*self._command, "serve"], self.folder, self.environment)

    def add(self, server: Server | None, note: Note) -> None:
        """Call the tool `remember`."""
        assert server is not None
        server.call("remember", content=note.text, tags=[note.key])

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `recall`."""
        assert server is not None
        return keys_in(server.call("recall", query=question, k=most), most)

    def ask_cold(self, question: str) -> Spent:
        """Run `agentrecall search`."""
        return self._run("search", question)

    def index_files(self) -> list[str]:
        """Return its one file, which also holds the notes."""
        return [self._path]

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "agent.db")

    @property
    def _command(self) -> list[str]:
        return [self._tool("agentrecall"), "--db", self._path, "--embeddings", "false"]

    def _run(self, *arguments: str) -> Spent:
        return command([*self._command, *arguments], self.folder, self.environment)


class McpMemoryLite(PythonRival):
    """mcp-memory-service-lite: SQLite with vectors; from its second start on it needs an ONNX model from a server."""

    name, where = "mcp-memory-service-lite", "mcp-memory-service-lite"
    how = "one call of its store tool a note; its ONNX model would come from a server"

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Call `memory_store` for each note, as its bulk import does not keep notes whole."""
        with self.serve() as server:
            for note in notes:
                self.add(server, note)
                if server.cpu_ms() > _IMPORT_SECONDS * 1000:
                    raise PeerError(f"stopped: the import takes more than {_IMPORT_SECONDS:.0f} CPU-s")
            return Spent(server.cpu_ms(), 0.0)

    def serve(self) -> Server:
        """Start `memory server`."""
        variables = {
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_SQLITE_PATH": self._path,
            "MCP_MEMORY_BACKUPS_PATH": os.path.join(self.folder, "backups"),
        }
        return Server([self._tool("memory"), "server"], self.folder, self.environment | variables)

    def add(self, server: Server | None, note: Note) -> None:
        """Call the tool `memory_store`."""
        assert server is not None
        answer = server.call("memory_store", content=note.text, metadata={"tags": note.key})
        if "success" not in answer.lower():
            raise PeerError(answer)

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `memory_search`."""
        assert server is not None
        answer = server.call("memory_search", query=question, limit=most)
        if answer.startswith("Error"):
            raise PeerError(answer)
        return keys_in(answer, most)

    def index_files(self) -> list[str]:
        """Return its one file, which also holds the notes."""
        return [self._path]

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "memory.db")


class BasicMemory(PythonRival):
    """basic-memory: markdown files with an index in SQLite."""

    name, where = "basic-memory", "basic-memory"
    extra_packages = ("basic-memory<0.24",)  # 0.24 needs a certifi that not every package index has
    how = "words alone (`semantic_search_enabled=false`): its model would come from a hub; `basic-memory reindex --search`"

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Write the files into a project and index them."""
        folder = self._write_notes(notes)
        if not os.path.exists(os.path.join(self.folder, "made")):
            self._run("project", "add", "peers", folder)
            self._run("project", "default", "peers")
            with open(os.path.join(self.folder, "made"), "w", encoding="utf-8"):
                pass
        return self._run("reindex", "--search", "--full")

    def rebuild(self) -> Spent:
        """Run `basic-memory reindex --search --full`."""
        return self._run("reindex", "--search", "--full")

    def serve(self) -> Server:
        """Start `basic-memory mcp`."""
        return Server([self._tool("basic-memory"), "mcp"], self.folder, self._home)

    def add(self, server: Server | None, note: Note) -> None:
        """Call the tool `write_note`."""
        assert server is not None
        server.call("write_note", title=note.key, content=note.text, directory="added", project="peers")

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `search_notes`."""
        assert server is not None
        return keys_in(server.call("search_notes", query=question, page_size=most, project="peers"), most)

    def index_files(self) -> list[str]:
        """Return its database."""
        return self._databases(self.folder)

    @property
    def _home(self) -> dict[str, str]:
        return {
            **self.environment,
            "BASIC_MEMORY_CONFIG_DIR": os.path.join(self.folder, "config"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
        }

    def _run(self, *arguments: str) -> Spent:
        return command(
            [self._tool("basic-memory"), *arguments], self.folder, self._home, limit=_COMMAND_SECONDS
        )


class ServerMemory(NodeRival):
    """The reference memory server: a graph in one JSON lines file, searched for the question as a substring."""

    name, where = "server-memory", "@modelcontextprotocol/server-memory"
    how = "one entity a note; `search_nodes` looks for the whole question as a substring"

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Call `create_entities` with a hundred at a time."""
        with self.serve() as server:
            for start in range(0, len(notes), 100):
                self._create(server, notes[start : start + 100])
            return Spent(server.cpu_ms(), 0.0)

    def serve(self) -> Server:
        """Start its only command."""
        variables = {"MEMORY_FILE_PATH": self._path}
        return Server([self._bin("mcp-server-memory")], self.folder, self.environment | variables)

    def add(self, server: Server | None, note: Note) -> None:
        """Call the tool `create_entities`."""
        assert server is not None
        self._create(server, [note])

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `search_nodes`."""
        assert server is not None
        return keys_in(server.call("search_nodes", query=question), most)

    def index_files(self) -> list[str]:
        """Return its one file, which also holds the notes."""
        return [self._path]

    @property
    def _path(self) -> str:
        return os.path.join(self.folder, "memory.jsonl")

    def _create(self, server: Server, notes: Sequence[Note]) -> None:
        entities = [{"name": n.key, "entityType": "note", "observations": [n.text]} for n in notes]
        server.call("create_entities", entities=entities)


class Qmd(NodeRival):
    """qmd: markdown collections with BM25 in SQLite; its models come from a hub, so offline it searches words only."""

    name, where = "qmd", "@tobilu/qmd"
    _tool_name = "search"
    extra_packages = ("bun",)
    how = "`qmd search` (BM25): its models would come from a hub"

    def import_notes(self, notes: Sequence[Note]) -> Spent:
        """Write a collection of files and index it."""
        folder = self._write_notes(notes)
        if not os.path.exists(os.path.join(self.folder, "made")):
            with open(os.path.join(self.folder, "made"), "w", encoding="utf-8"):
                pass
            return self._run("collection", "add", folder, "--name", "notes")
        return self._run("update")

    def serve(self) -> Server:
        """Start `qmd mcp`."""
        return Server([self._bin("qmd"), "mcp"], self.folder, self._home)

    def add(self, server: Server | None, note: Note) -> None:  # noqa: ARG002
        """Write a file and run `qmd update`."""
        self._write_note(os.path.join(self.folder, "notes"), note)
        self._run("update")

    def search(self, server: Server | None, question: str, most: int) -> list[str]:
        """Call the tool `search`."""
        assert server is not None
        return keys_in(server.call(self._tool_name, query=question, limit=most), most)

    def ask_cold(self, question: str) -> Spent:
        """Run `qmd search`."""
        return self._run("search", question, "-n", "5", "--files")

    def index_files(self) -> list[str]:
        """Return its database."""
        return self._databases(self.folder)

    def _run(self, *arguments: str) -> Spent:
        return command([self._bin("qmd"), *arguments], self.folder, self._home)

    @property
    def _home(self) -> dict[str, str]:
        path = os.pathsep.join([os.path.join(self.installed, "node_modules", ".bin"), os.environ["PATH"]])
        return {**self.environment, "PATH": path, "XDG_CONFIG_HOME": os.path.join(self.folder, "config")}


MORE = (AgentRecall, McpMemoryLite, BasicMemory, ServerMemory, Qmd)
