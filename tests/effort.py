"""How much a test does: a little every day, and all of it with `./test --thorough`."""

from __future__ import annotations

import hypothesis

THOROUGH = "thorough"


def is_thorough() -> bool:
    """Whether this run was asked for with `--thorough`."""
    return hypothesis.settings.get_current_profile_name() == THOROUGH


def examples(everyday: int, thorough: int) -> int:
    """A number of examples, repetitions or steps."""
    return thorough if is_thorough() else everyday
