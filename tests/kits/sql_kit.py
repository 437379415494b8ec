"""Asking a store in SQL: what it answers, and how it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engram.domain.errors import UsageError
from engram.domain.explore.tables import Limits, Table
from engram.usecases.explore.sql_query import execute

if TYPE_CHECKING:
    from engram.app import Engram

SOON = Limits(seconds=0.05)


def rows(engram: Engram, sql: str, *values: object, **more: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in execute(engram.store, sql, values, **more).rows]


def refused(engram: Engram, sql: str, limits: Limits = Limits()) -> str:  # noqa: B008 - a tuple
    with pytest.raises(UsageError) as told:
        execute(engram.store, sql, (), limits, waiting=False)
    assert told.value.message.endswith(".")
    assert told.value.hint
    return told.value.message


def answered(engram: Engram, sql: str) -> Table | None:
    """The answer; None for what is refused in a sentence."""
    try:
        return execute(engram.store, sql, (), SOON, waiting=False)
    except UsageError as error:
        told = error.message
    assert told.endswith(".")
    return None
