"""Repositories that no git command makes, of objects written byte by byte, and a victim's store with its surroundings."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from apikit import git
from storekit import commit
from sync_kit import Clones, ManyClock, executable, files

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE, PROGRAM, LINK, MODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"
PERSON = "x <x@example.org> 1772600000 +0000"
Entries = dict[bytes, tuple[str, str]]


class Objects:
    """The loose objects of a bare repository, written without git."""

    def __init__(self, hub: Path) -> None:
        self.hub = hub

    def write(self, kind: str, data: bytes) -> str:
        raw = f"{kind} {len(data)}\0".encode() + data
        oid = hashlib.sha1(raw).hexdigest()
        file = self.hub / "objects" / oid[:2] / oid[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(raw, 1))
        return oid

    def read(self, oid: str) -> bytes:
        raw = zlib.decompress((self.hub / "objects" / oid[:2] / oid[2:]).read_bytes())
        return raw.partition(b"\0")[2]

    def blob(self, data: bytes) -> str:
        return self.write("blob", data)

    def entries(self, oid: str) -> Entries:
        data, at, found = self.read(oid), 0, Entries()
        while at < len(data):
            blank, end = data.index(b" ", at), data.index(b"\0", at)
            found[data[blank + 1 : end]] = (data[at:blank].decode(), data[end + 1 : end + 21].hex())
            at = end + 21
        return found

    def tree(self, entries: Entries) -> str:
        def order(item: tuple[bytes, tuple[str, str]]) -> bytes:
            return item[0] + b"/" * (item[1][0] == FOLDER)

        lines = (
            f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid)
            for name, (mode, oid) in sorted(entries.items(), key=order)
        )
        return self.write("tree", b"".join(lines))

    def graft(self, tree: str | None, parts: list[bytes], mode: str, oid: str | None) -> str:
        """Write the tree with an added, replaced or removed entry at `parts`, with any names."""
        entries = self.entries(tree) if tree else Entries()
        name, *rest = parts
        if rest:
            below = entries.get(name)
            inner = below[1] if below and below[0] == FOLDER else None
            entries[name] = (FOLDER, self.graft(inner, rest, mode, oid))
        elif oid is None:
            del entries[name]
        else:
            entries[name] = (mode, oid)
        return self.tree(entries)

    @property
    def head(self) -> str:
        return git(self.hub, "rev-parse", "main")

    def commit(
        self, tree: str, message: bytes = b"x\n", person: str = PERSON, parents: tuple[str, ...] = ()
    ) -> str:
        """Write a commit on top of main (or of `parents`), and move main to it."""
        lines = [f"tree {tree}"] + [f"parent {oid}" for oid in parents or (self.head,)]
        lines += [f"author {person}", f"committer {person}", "", ""]
        oid = self.write("commit", "\n".join(lines).encode() + message)
        (self.hub / "refs/heads/main").write_text(oid + "\n")
        return oid

    def put(self, path: str | bytes, content: bytes = b"x\n", mode: str = FILE) -> str:
        """Write a commit with another file; `path` is split at slashes, and "//" stands for a slash in a name."""
        raw = path.encode() if isinstance(path, str) else path
        parts = [part.replace(b"//", b"/") for part in re.split(rb"(?<!/)/(?!/)", raw)]
        oid = self.head if mode == MODULE else self.blob(content)
        return self.commit(self.graft(self.top, parts, mode, oid))

    @property
    def top(self) -> str:
        return git(self.hub, "rev-parse", "main^{tree}")


class World:
    """A victim's store, its remote, and files around it that must not be touched."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home
        self.hub, self.root = folder / "hub.git", folder / "a"
        self.trace = folder / "executed"
        self.objects = Objects(self.hub)

    def set_traps(self) -> None:
        """Write files that must stay unchanged, and programs that git would run if it were allowed to."""
        for name in ("outside/secret.md", "outside/lore/x.md", "config"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text("mine\n")
        program = self.folder / "canary.sh"
        executable(program, f"#!/bin/sh\necho \"$0 $@\" >> '{self.trace}'\ncat\n")
        for hook in ("post-checkout", "post-merge", "reference-transaction", "pre-push", "post-commit"):
            executable(self.folder / "hooks" / hook, program.read_text())
        lines = ["[core]", f"hooksPath = {self.folder / 'hooks'}", f"fsmonitor = {program}"]
        for name in ("lfs", "evil"):
            lines += [f'[filter "{name}"]', *(f"{key} = {program}" for key in ("clean", "smudge", "process"))]
            lines += ["required = true", f'[merge "{name}"]', f"driver = {program} %A"]
            lines += [f'[diff "{name}"]', f"textconv = {program}", f"command = {program}"]
        with (self.home / ".gitconfig").open("a") as file:
            file.write("\n".join(lines) + "\n")

    def around(self) -> dict[str, bytes]:
        """Return all files of the world except those of the store, its remote and new clones."""
        own = ("a", "hub.git", "new", "bystander")
        kept = [path for path in (*self.folder.iterdir(), self.home) if path.name not in own]
        found = {}
        for top in kept:
            for path in (top, *top.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    found[str(path)] = path.read_bytes()
                else:
                    found[str(path)] = os.readlink(path).encode() if path.is_symlink() else b"folder"
        return found

    def store(self) -> dict[str, bytes]:
        return files(self.root)


def build(folder: Path) -> None:
    """Make a hub with an entry, a clone `a` that is up to date, and a clone `b` with an entry of its own."""
    folder.mkdir()
    made = Clones(folder)
    made.record("a")
    made.settle()
    made.record("b", "Mine alone: the palette of the settings page was chosen for contrast.")
    commit(made["b"])
    for name in "ab":
        made[name].close()


def copy_clones(template: Path, folder: Path, names: str = "ab") -> Clones:
    """Copy clones that are made once, which is ten times as fast as making them."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    for name in names:
        config = folder / name / ".git/config"
        config.write_text(config.read_text().replace(str(template), str(folder)))
    found = Clones.__new__(Clones)
    found.folder, found.hub, found.clock = folder, folder / "hub.git", ManyClock()
    found.clock.advance(hours=1)
    found.stores = {name: found.add_opened(name) for name in names}
    return found


def copy(template: Path, folder: Path, home: Path, *, diverged: bool) -> World:
    """Copy the world of the template; `diverged`: the store has a commit that the remote lacks."""
    folder.mkdir()
    shutil.copytree(template / "hub.git", folder / "hub.git")
    shutil.copytree(template / ("b" if diverged else "a"), folder / "a")
    config = folder / "a/.git/config"
    config.write_text(config.read_text().replace(str(template / "hub.git"), str(folder / "hub.git")))
    world = World(folder, home)
    world.set_traps()
    return world


_WATCHED: list[tuple[str, list[str]]] = []


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _WATCHED and isinstance(arguments[0], str | bytes):
        place, seen = _WATCHED[-1]
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(place):
            seen.append(path)


@functools.cache
def _watch_opened() -> None:
    """Install the audit hook, once a process and only if needed, since every event of Python passes through it."""
    sys.addaudithook(_note_opened)


@contextmanager
def nothing_opened_below(folder: Path) -> Iterator[None]:
    """Check that no Python code of this process opens a file below `folder` in the block."""
    _watch_opened()
    seen: list[str] = []
    _WATCHED.append((os.path.join(os.path.realpath(folder), ""), seen))
    try:
        yield
    finally:
        _WATCHED.pop()
    assert seen == []
