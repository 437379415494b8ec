"""The time from a change of files, made as editors and git make it, to the answer that shows it.

Each change puts a word that no entry contains into a file and then queries that word, so a change that goes unnoticed
fails the benchmark instead of looking fast.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import generate
from measuring import Cost, cost_of, median

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.categories import Categories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import engram

REPEATS = 7
MANY = 100
SEED = 2
_LONGEST = 3_500
SETTLE_SECONDS = 2.2


def settle(store: engram.Engram, seconds: float = SETTLE_SECONDS) -> None:
    """Refresh the index, and wait until file times are old enough to be trusted."""
    store.refresh()
    time.sleep(seconds)  # only real time makes files older
    store.refresh()


def changes(
    root: str, repeats: int = REPEATS, many: int = MANY, settle_seconds: float = SETTLE_SECONDS
) -> dict[str, Cost]:
    """Measure the cost of noticing and showing each kind of change; restores every file at the end."""
    import engram

    with engram.open(root, background=False, session="benchmark") as store:
        settle(store, settle_seconds)
        listed = [shown for shown in store.list(limit=many * 5).lore if len(shown.lore.content) < _LONGEST]
        files = [(os.path.join(root, *shown.path.split("/")), shown.lore.id) for shown in listed]
        before = {path: _read(path) for path, _ in files}
        left = len(files) - len(_KINDS) * repeats  # in a small store, fewer files are changed at once
        changer = _Changer(store, files, repeats, max(1, min(many, left // 3)))
        try:
            return {name: changer.measure(getattr(changer, name)) for name in _KINDS}
        finally:
            for path, raw in before.items():
                _replace(path, raw)
            for path in changer.made:
                os.unlink(path)
            settle(store, settle_seconds)


_KINDS = ("replaced", "rewritten", "swept", "new", "deleted", "many")


class _Changer:
    """Makes changes; each method makes one and returns a function that tells whether an answer shows it."""

    def __init__(self, store: engram.Engram, files: list[tuple[str, str]], repeats: int, many: int) -> None:
        self.made: list[str] = []
        self._store = store
        self._files = iter(files)
        self._new = generate.lore_files(repeats, SEED)
        self._repeats = repeats
        self._many = many
        self._words = _words()

    def measure(self, change: Callable[[], Callable[[], bool]]) -> Cost:
        """Return the median cost of the query after each of several changes. Raises AssertionError."""
        costs = []
        for _ in range(min(self._repeats, 3) if change == self.many else self._repeats):
            is_shown = change()
            seen: list[bool] = []
            costs.append(cost_of(lambda is_shown=is_shown, seen=seen: seen.append(is_shown())))  # type: ignore[misc]
            if not seen[0]:
                raise AssertionError(f"{change.__name__}: the change is not in the answer")
        return median(costs)

    def replaced(self) -> Callable[[], bool]:
        """Replace a file, as editors do that move a new one over it."""
        path, lore_id, word = self._next()
        _replace(path, _read(path) + f"\n{word}\n".encode())
        return lambda: self._shows(word, lore_id)

    def rewritten(self) -> Callable[[], bool]:
        """Write a file in place: the time of its folder stays, but the program has inotify events by now."""
        path, lore_id, word = self._next()
        for _ in range(2):
            self._shows(word, lore_id)
        with open(path, "ab") as file:
            file.write(f"\n{word}\n".encode())
        return lambda: self._shows(word, lore_id)

    def swept(self) -> Callable[[], bool]:
        """Write a file in place, to be found by a scan of all files."""
        path, lore_id, word = self._next()
        with open(path, "ab") as file:
            file.write(f"\n{word}\n".encode())
        return lambda: bool(self._store.refresh()) and self._shows(word, lore_id)

    def new(self) -> Callable[[], bool]:
        """Add a file."""
        path, lore = next(self._new)
        word = next(self._words)
        absolute = os.path.join(self._store.path, *path.split("/"))
        os.makedirs(os.path.dirname(absolute), exist_ok=True)
        _replace(
            absolute,
            codec.write_new(lore._replace(content=f"{lore.content[:_LONGEST]} {word}"), Categories()),
        )
        self.made.append(absolute)
        return lambda: self._shows(word, lore.id)

    def deleted(self) -> Callable[[], bool]:
        """Delete a file."""
        path, lore_id, word = self._next()
        _replace(path, _read(path) + f"\n{word}\n".encode())
        if not self._shows(word, lore_id):
            raise AssertionError("the entry to delete is not found")
        os.unlink(path)
        return lambda: not self._shows(word, lore_id)

    def many(self) -> Callable[[], bool]:
        """Replace a hundred files, as a pull does."""
        changed = [self._next() for _ in range(self._many)]
        for path, _, word in changed:
            _replace(path, _read(path) + f"\n{word}\n".encode())
        _, lore_id, word = changed[-1]
        return lambda: self._shows(word, lore_id)

    def _next(self) -> tuple[str, str, str]:
        return *next(self._files), next(self._words)

    def _shows(self, word: str, lore_id: str) -> bool:
        answer = self._store.query(word, k=5, min_confidence=0, keep=False)
        return any(hit.lore.id == lore_id for hit in answer.lore)


def _words() -> Iterator[str]:
    """Yield words that no entry has, different in every run."""
    start = time.time_ns() // 1000
    return (f"mark{start + number}x" for number in range(1 << 30))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replace(path: str, raw: bytes) -> None:
    """Write a file as editors do: write a temporary file beside it and move that over it."""
    temporary = os.path.join(os.path.dirname(path), ".benchmark-beside")
    with open(temporary, "wb") as file:
        file.write(raw)
    os.replace(temporary, path)
