"""A store after months of use: everything that Engram keeps on disk beside lore, made by the commands that make it.

A new kind of private file is met by whoever goes through the folder of such a store, if only a command here makes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from apikit import COLOUR, QUEUE, TIDES, cli, git
from hookkit import recorded_payload

from engram import serving
from engram.app import Engram
from engram.usecases.history import change_feed
from engram.usecases.opening.open_store import open_store
from engram.usecases.recording.idempotent_writes import record_once
from engram.usecases.recording.record import Draft
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Caller, Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apikit import Result

# What is recalled by the question, before anything is damaged, while it is and after it was mended.
QUESTION = "idempotent queue consumer"
RECALLED = "make every handler idempotent"
WAITING = "The newest entry is about idempotent handlers in the queue consumer of the depot."
MANY = 24  # entries from an import, so that there is a graph over vectors
CODE = "def consume(message):\n    return message\n"
_NOT_PRIVATE = re.compile(r"/lore/|config\.toml$|\.engram\.toml$|\.git/(?!engram/)|\.git(attributes|ignore)$")
_NAMED = re.compile(
    r"[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{32,40}|(?<=graph-)[0-9-]+|(?<=judgements/)\w\w(?=/)|\w{4}-\d{4}(?=\.jsonl)"
)


def kind_of(name: str) -> str:
    """Return the kind of a file: its name without ids, digests and numbers."""
    return (
        _NAMED.sub("*", name)
        .replace("store/.git/engram/", "", 1)
        .replace("home/.local/share/engram/", "~/", 1)
    )


class World(NamedTuple):
    """A self-contained folder with a store, its remote, a colleague's clone and a home."""

    place: Path

    @property
    def store(self) -> Path:
        return self.place / "store"

    @property
    def state(self) -> Path:
        """The folder of the clone's private state."""
        return self.store / ".git" / "engram"

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that confine a program to this world."""
        folders = {"HOME": ".", "XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
        folders |= {"XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "TMPDIR": "tmp"}
        chosen = {name: str(self.home / place) for name, place in folders.items()}
        return chosen | {"ENGRAM_SESSION": "s1", "ENGRAM_BACKGROUND": "inline", "ENGRAM_HOOK_SECONDS": "60"}

    def private_files(self) -> dict[str, list[Path]]:
        """Every file that Engram keeps for itself, in the store and in the home, by kind: its path without ids and numbers.

        Lore and what belongs to git is not among them.
        """
        found: dict[str, list[Path]] = {}
        for path in sorted(self.place.glob("store/.git/engram/**/*")) + sorted(self.home.rglob("*")):
            name = path.relative_to(self.place).as_posix()
            if path.is_file() and "engram/" in name and not _NOT_PRIVATE.search(name):
                found.setdefault(kind_of(name), []).append(path)
        return found

    def lore(self) -> dict[str, bytes]:
        """Return the files of all entries of the store, by path."""
        return {
            str(path.relative_to(self.store)): path.read_bytes() for path in self.store.glob("lore/**/*.md")
        }


def make_world(place: Path) -> World:
    """Make a store in `place` and use it in every way that leaves something on disk."""
    world = World(place)
    for folder in ("tmp", ".config/engram"):
        (world.home / folder).mkdir(parents=True)
    (world.home / ".config/engram/config.toml").write_text("[embedding]\ngraph = 16\n", "utf-8")
    git(place, "init", "-q", "--bare", "remote.git")
    run(world, "init", "store", cwd=place)
    (world.store / "consumer.py").write_text(CODE, "utf-8")
    git(world.store, "add", "consumer.py")
    git(world.store, "commit", "-q", "-m", "code")
    for text, category in ((QUEUE, "pattern-outcome"), (COLOUR, "decision"), (TIDES, "fact")):
        run(
            world,
            "record",
            text,
            "-c",
            category,
            "--entity",
            "Kafka",
            "-f",
            "consumer.py",
            "--when",
            "file: *.py",
        )
    _import_rows(world)
    run(world, "query", QUESTION)
    run(world, "feedback", "--helpful", "L1")
    run(world, "edit", "L1", "--add-tag", "queue")
    _share(world)
    _work_as_an_agent(world)
    _look_around(world)
    _serve(world)
    run(world, "query", QUESTION)
    run(world, "feedback", "--incorrect", "L2")  # a judgement that is in no other clone
    for repository in (world.store, place / "remote.git"):
        git(repository, "gc", "-q", "--prune=now")
    shutil.rmtree(place / "there")
    with opened(world, clock=_Earlier()) as store:
        store.record(WAITING, category="FACT")  # acknowledged, but not yet in git
    return world


class _Earlier(Clock):
    """A clock ten minutes slow, so that what waits since then is overdue, however fast this machine is."""

    def nanoseconds(self) -> int:
        return super().nanoseconds() - 600 * 10**9


@contextlib.contextmanager
def opened(world: World, clock: Clock | None = None) -> Iterator[Engram]:
    """Open the store in this process, like a program that leaves commits to others."""
    with mock.patch.dict(os.environ, world.variables):
        store = Engram(open_store(str(world.store), Caller("s1", "tester"), clock=clock), background=False)
        try:
            yield store
        finally:
            store.store.close()


def run(world: World, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", code: int = 0) -> Result:
    """Run a command in the world, and check its exit code."""
    done = cli(*arguments, cwd=cwd or world.store, stdin=stdin, **world.variables)
    assert done.code == code, (arguments, done)
    return done


def _import_rows(world: World) -> None:
    rows = [{"content": f"Machine {number} of the depot is served every {number + 2} weeks.", "category": "fact"}
            for number in range(MANY)]  # fmt: skip
    (world.place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run(world, "import", str(world.place / "rows.jsonl"))


def _share(world: World) -> None:
    """Push everything to a remote, have a colleague push changes, and pull some of them."""
    run(world, "remote", "add", "origin", "../remote.git")
    run(world, "config", "trust.hold", "foreign", "--user")
    run(world, "sync")
    there = world.place / "there"
    run(world, "clone", "remote.git", "there", cwd=world.place)
    git(there, "config", "user.name", "Grace")
    git(there, "config", "user.email", "grace@example.invalid")
    run(world, "record", "The lathe is oiled by hand on Mondays.", "-c", "fact", cwd=there)
    run(world, "record", "The press jams when it is colder than five degrees.", "-c", "failure", cwd=there)
    run(world, "config", "recall.min_confidence", "0.4", cwd=there)
    run(world, "sync", cwd=there)
    run(world, "config", "sync.auto", "true", "--user")
    run(world, "sync")
    waiting = run(world, "trust", "list", "--json").json
    run(world, "trust", "accept", waiting["held"][0]["id"])
    run(world, "trust", "ignore", source_of(there))
    run(world, "record", "The colleague's proposal is about belts.", "-c", "fact", cwd=there)
    run(world, "propose", "-m", "Belts", cwd=there)
    run(world, "review")
    run(world, "record", "Our own proposal is about chains.", "-c", "fact")
    run(world, "propose", "-m", "Chains")


def source_of(clone: Path) -> str:
    """Return the id of a clone."""
    return (clone / ".git/engram/source").read_text("ascii").strip()


def _work_as_an_agent(world: World) -> None:
    """Leave traces of agents' sessions: hooks, observations, handoffs, captured notes, a connected agent."""
    for event in ("session-start", "prompt", "pre-tool", "post-tool", "tool-failure", "stop", "session-end"):
        payload = recorded_payload("claude-code", event, world.store)
        run(world, "hook", event, "--agent", "claude-code", stdin=json.dumps(payload).encode())
    run(world, "record", "Only this session knows it.", "-c", "fact", "--scope", "session")
    run(world, "team", "register", "ada", "--name", "Ada")
    run(world, "team", "observe", "The depot was closed today, since the gate was frozen.")
    run(world, "team", "handoff", "The belts are left.", "--to", "ada")
    run(world, "team", "summary", "Looked at belts.")
    run(world, "connect", "codex", "--yes")
    run(world, "link", "Kafka", "--to", "ZooKeeper")


def _look_around(world: World) -> None:
    """Run commands that store something: caches, marks, undone, promoted and maintained entries."""
    for words in (
        ("query", QUESTION, "--as-of", "HEAD~2"), ("log", "L1"), ("blame", "L1"), ("consolidate",), ("worth",),
        ("review", "--kind", "duplicate"), ("explore",), ("insight",), ("evolve",), ("graph",), ("live",),
        ("metrics",), ("undo",), ("redo",), ("promote", "L1", "--to", "user"), ("maintain",), ("reindex",), ("status",),
        ("sync",),
    ):  # fmt: skip
        run(world, *words)


def _serve(world: World) -> None:
    """Leave traces of programs that use the HTTP API: keys, a change feed, a token."""
    with opened(world) as store:
        record_once(store.store, Draft("A program keeps the numbers of pallets.", "FACT"), "one-key")
        change_feed.delta(store.store)
        serving.load_token(store.store.places.state)
        commit_pending(store.store, wait=30)
