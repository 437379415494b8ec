"""Imports without a package that is installed, and with it afterwards."""

from __future__ import annotations

import sys

import pytest

from engram.adapters.absent_packages import without_packages


def test_a_package_is_absent_meanwhile_and_can_be_imported_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with without_packages("colorsys"), pytest.raises(ImportError):
        import colorsys
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 1)


def test_a_package_that_is_imported_already_stays() -> None:
    with without_packages("sys"):
        assert sys.modules["sys"] is sys
    assert sys.modules["sys"] is sys
