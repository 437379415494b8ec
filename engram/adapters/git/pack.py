"""New objects of a repository: their ids, and bringing many of them in at once as a pack (format: gitformat-pack(5))."""

from __future__ import annotations

import hashlib
import struct
import zlib

from engram.adapters.git import layout
from engram.adapters.git.environment import DURABLE
from engram.adapters.git.objects import BLOB, COMMIT, TREE
from engram.adapters.git.runner import run
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.layout import Repository

SECONDS = 120.0
FEW = 100  # objects; so few are better off as files of their own (as for git: fetch.unpackLimit)
_NUMBERS = {COMMIT: 1, TREE: 2, BLOB: 3}
_QUICK = 1  # level of compression; a later `git gc` packs everything anew


class NewObjects:
    """Objects in the making: each is there as soon as `store` has ended well."""

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
        few = len(self._found) < FEW
        words = ("unpack-objects", "-q") if few else ("index-pack", "--stdin")
        run(self._repo, *DURABLE, *words, stdin=self._pack(), deadline=SECONDS)

    def _pack(self) -> bytes:
        parts = [b"PACK" + struct.pack(">II", 2, len(self._found))]
        for kind, content in self._found.values():
            parts += [_head(_NUMBERS[kind], len(content)), zlib.compress(content, _QUICK)]
        data = b"".join(parts)
        return data + hashlib.new(self._algorithm, data, usedforsecurity=False).digest()


def _head(number: int, size: int) -> bytes:
    """Type and size: four bits of the size in the first byte, seven in each further one, the lowest first."""
    first, rest = number << 4 | size & 15, size >> 4
    found = bytearray()
    while rest:
        found.append(first | 128)
        first, rest = rest & 127, rest >> 7
    found.append(first)
    return bytes(found)
