"""The profiles: every part of the program that they distinguish exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_every_part_of_a_profile_exists_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import profiles

    assert [prefix for prefix in profiles._PARTS if not any(ROOT.glob(f"{prefix}*"))] == []
