"""The base of every part of the Python API: an open store, and scheduling commits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import MappingProxyType

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from engram.usecases.store.store import Store

    T = TypeVar("T")

Words = str | Sequence[str]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Part(ABC):
    """The methods about one subject; `engram.app.Engram` has all of them."""

    store: Store

    @abstractmethod
    def _schedule_commit(self) -> None:
        """Schedule a commit of what was written."""

    def _written(self, result: T) -> T:
        """Schedule a commit, and return the result of the use case that wrote."""
        self._schedule_commit()
        return result


def words(value: Words) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)
