"""New objects of a repository: their ids, and many of them written at once as a pack (format: gitformat-pack(5)).

All that git would have to compute from a pack is known here, so its index is written with it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from bisect import bisect_left
from contextlib import suppress

from engram.adapters.git.read.objects import BLOB, COMMIT, TREE
from engram.adapters.git.run import layout
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
FEW = 100  # objects; so few are better off as files of their own (as for git: fetch.unpackLimit)
_NUMBERS = {COMMIT: 1, TREE: 2, BLOB: 3}
_QUICK = 1  # level of compression; a later `git gc` packs everything anew


class NewObjects:
    """Objects to be written: each exists once `store` has returned."""

    def __init__(self, repo: Repository) -> None:
        self._repo, self._algorithm = repo, layout.hash_name(repo)
        self._found: dict[str, tuple[bytes, bytes]] = {}

    def add(self, kind: bytes, content: bytes) -> str:
        """One more object; its id."""
        head = b"%s %d\0" % (kind, len(content))
        oid = hashlib.new(self._algorithm, head + content, usedforsecurity=False).hexdigest()
        self._found[oid] = kind, content
        return oid

    def store(self) -> None:
        """Write them all, durably. Raises GitError."""
        packed = self._compress()
        pack, placed = self._pack(packed)
        if len(packed) < FEW:
            run(self._repo, *DURABLE, "unpack-objects", "-q", stdin=pack, deadline=SECONDS)
        else:
            self._place(pack, self._index(placed, pack))

    def _compress(self) -> dict[str, bytes]:
        """Return each object as it is in a pack; half of them on another processor."""
        import threading

        found: dict[str, bytes] = {}
        oids = list(self._found)

        def compress(some: list[str]) -> None:
            for oid in some:
                kind, content = self._found[oid]
                found[oid] = _head(_NUMBERS[kind], len(content)) + zlib.compress(content, _QUICK)

        other = threading.Thread(target=compress, args=(oids[1::2],))
        other.start()
        compress(oids[::2])
        other.join()
        return found

    def _pack(self, packed: Mapping[str, bytes]) -> tuple[bytes, list[tuple[bytes, int, int]]]:
        """Return the pack, and of each object in it the id, the checksum and the place, sorted."""
        parts, at = [b"PACK" + struct.pack(">II", 2, len(self._found))], 12
        placed = []
        for oid in self._found:
            placed.append((bytes.fromhex(oid), zlib.crc32(packed[oid]), at))
            parts.append(packed[oid])
            at += len(packed[oid])
        return self._seal(b"".join(parts)), sorted(placed)

    def _index(self, placed: Sequence[tuple[bytes, int, int]], pack: bytes) -> bytes:
        """Return the index by which git finds the objects of the pack."""
        oids, checksums, places = zip(*placed, strict=True)
        # A place beyond 2 GiB would be written otherwise; what comes to that is refused long before (`incoming`).
        counts = [bisect_left(oids, bytes([first + 1])) for first in range(255)]
        numbers = struct.pack(f">{2 * len(oids)}I", *checksums, *places)
        head = b"\xfftOc" + struct.pack(">257I", 2, *counts, len(oids))
        return self._seal(head + b"".join(oids) + numbers + pack[-len(oids[0]) :])

    def _seal(self, data: bytes) -> bytes:
        return data + hashlib.new(self._algorithm, data, usedforsecurity=False).digest()

    def _place(self, pack: bytes, index: bytes) -> None:
        """Move both into place, the index last: git finds the pack by it."""
        folder = os.path.join(self._repo.common_dir, "objects", "pack")
        width = hashlib.new(self._algorithm, usedforsecurity=False).digest_size
        name = os.path.join(folder, f"pack-{pack[-width:].hex()}")
        if os.path.exists(f"{name}.idx"):
            return  # the same objects were written before
        try:
            os.makedirs(folder, exist_ok=True)
            for content, ending in ((pack, "pack"), (index, "idx")):
                _write(content, f"{name}.{ending}")
        except OSError as error:
            raise GitError(
                f"The git repository at {self._repo.worktree} cannot be written: {error.strerror}.",
                "Check free space and permissions.",
            ) from error


def _write(content: bytes, path: str) -> None:
    """Write an immutable file, fsynced; whoever may read its folder may read it."""
    folder, name = os.path.split(path)
    draft = os.path.join(
        folder, f"tmp_{name}_{os.getpid()}"
    )  # git clears away what a kill leaves of that name
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, os.stat(folder).st_mode & 0o444)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _head(number: int, size: int) -> bytes:
    """Type and size: four bits of the size in the first byte, seven in each further one, the lowest first."""
    first, rest = number << 4 | size & 15, size >> 4
    found = bytearray()
    while rest:
        found.append(first | 128)
        first, rest = rest & 127, rest >> 7
    found.append(first)
    return bytes(found)
