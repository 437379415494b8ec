"""The effort of a test: a sample every day, and everything with `./test --thorough`.

Tests marked slow, among them further cases of sampled tests, run with `./test --slow` and on the CI server.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

THOROUGH = "thorough"


def is_thorough() -> bool:
    """Return whether this run has `--thorough`."""
    hypothesis = sys.modules.get("hypothesis")  # not loaded in processes started by tests
    return hypothesis is not None and hypothesis.settings.get_current_profile_name() == THOROUGH


def examples(everyday: int, thorough: int) -> int:
    """Choose a number of examples, repetitions or steps."""
    return thorough if is_thorough() else everyday


def sampled(
    names: str | tuple[str, ...],
    values: Iterable[Any],
    everyday: int = 1,
    ids: Sequence[str] | Callable[[Any], str] | None = None,
) -> pytest.MarkDecorator:
    """Return a `pytest.mark.parametrize` with all but the first few values marked slow."""
    import pytest

    rows = [value if isinstance(names, tuple) else (value,) for value in values]
    marked = [
        pytest.param(*row, marks=pytest.mark.slow if number >= everyday else ())
        for number, row in enumerate(rows)
    ]
    return pytest.mark.parametrize(names, marked, ids=ids)
