"""Write new objects to a repository, many at once as a pack (format: gitformat-pack(5)).

Everything that git would compute from a pack is known here, so its index is written, too.
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
FEW = 100  # objects; fewer are written as loose objects (as git does: fetch.unpackLimit)
_TYPE_NUMBERS = {COMMIT: 1, TREE: 2, BLOB: 3}
_FAST = 1  # compression level; a later `git gc` packs everything again


class NewObjects:
    """Objects to be written; they exist once `store` has returned."""

    def __init__(self, repo: Repository) -> None:
        self._repo, self._algorithm = repo, layout.hash_name(repo)
        self._found: dict[str, tuple[bytes, bytes]] = {}

    def add(self, kind: bytes, content: bytes) -> str:
        """Add an object and return its id."""
        header = b"%s %d\0" % (kind, len(content))
        oid = hashlib.new(self._algorithm, header + content, usedforsecurity=False).hexdigest()
        self._found[oid] = kind, content
        return oid

    def store(self) -> None:
        """Write all objects durably. Raises GitError."""
        packed = self._compress()
        pack, offsets = self._pack(packed)
        if len(packed) < FEW:
            run(self._repo, *DURABLE, "unpack-objects", "-q", stdin=pack, deadline=SECONDS)
        else:
            self._place(pack, self._index(offsets, pack))

    def _compress(self) -> dict[str, bytes]:
        """Return the packed form of each object by id; half of them are compressed in another thread."""
        import threading

        found: dict[str, bytes] = {}
        oids = list(self._found)

        def compress(share: list[str]) -> None:
            for oid in share:
                kind, content = self._found[oid]
                found[oid] = _object_header(_TYPE_NUMBERS[kind], len(content)) + zlib.compress(content, _FAST)

        other = threading.Thread(target=compress, args=(oids[1::2],))
        other.start()
        compress(oids[::2])
        other.join()
        return found

    def _pack(self, packed: Mapping[str, bytes]) -> tuple[bytes, list[tuple[bytes, int, int]]]:
        """Return the pack, and the id, checksum and offset of each object in it, sorted."""
        parts, at = [b"PACK" + struct.pack(">II", 2, len(self._found))], 12
        offsets = []
        for oid in self._found:
            offsets.append((bytes.fromhex(oid), zlib.crc32(packed[oid]), at))
            parts.append(packed[oid])
            at += len(packed[oid])
        return self._seal(b"".join(parts)), sorted(offsets)

    def _index(self, objects: Sequence[tuple[bytes, int, int]], pack: bytes) -> bytes:
        """Return the index of the pack."""
        oids, checksums, offsets = zip(*objects, strict=True)
        # Offsets from 2 GiB on have another format; so much data is refused long before (`incoming`).
        counts = [bisect_left(oids, bytes([first + 1])) for first in range(255)]
        numbers = struct.pack(f">{2 * len(oids)}I", *checksums, *offsets)
        header = b"\xfftOc" + struct.pack(">257I", 2, *counts, len(oids))
        return self._seal(header + b"".join(oids) + numbers + pack[-len(oids[0]) :])

    def _seal(self, data: bytes) -> bytes:
        return data + hashlib.new(self._algorithm, data, usedforsecurity=False).digest()

    def _place(self, pack: bytes, index: bytes) -> None:
        """Write the pack and then the index, by which git finds the pack. Raises GitError."""
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
    """Write an immutable file, fsynced, with the read permissions of its folder. Raises OSError."""
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f"tmp_{name}_{os.getpid()}")  # git removes leftovers with such names
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


def _object_header(number: int, size: int) -> bytes:
    """Encode type and size: four bits of the size in the first byte, seven in each further one, lowest first."""
    first, rest = number << 4 | size & 15, size >> 4
    found = bytearray()
    while rest:
        found.append(first | 128)
        first, rest = rest & 127, rest >> 7
    found.append(first)
    return bytes(found)
