"""How much a test does: a little every day, and all of it with `./test --thorough`."""

from __future__ import annotations

import sys

THOROUGH = "thorough"


def is_thorough() -> bool:
    """Whether this run was asked for with `--thorough`."""
    hypothesis = sys.modules.get("hypothesis")  # which a process that a test starts does without
    return hypothesis is not None and hypothesis.settings.get_current_profile_name() == THOROUGH


def examples(everyday: int, thorough: int) -> int:
    """A number of examples, repetitions or steps."""
    return thorough if is_thorough() else everyday
