"""What every part of the Python API stands on: an open store, and having committed what was written to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    from engram.usecases.store.store import Store

    T = TypeVar("T")

Words = str | Sequence[str]


class Part(ABC):
    """The methods about one subject; `engram.app.Engram` has all of them."""

    store: Store

    @abstractmethod
    def _schedule_commit(self) -> None:
        """Have committed what was written."""

    def _written(self, result: T) -> T:
        """Return what a use case wrote, and have it committed."""
        self._schedule_commit()
        return result


def words(value: Words) -> tuple[str, ...]:
    """One text or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)
