"""The store that most tests of the app begin with: a copy of one that is made once for a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tui_kit import make_template, open_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import engram


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Iterator[engram.Engram]:
    with open_copy(template, tmp_path) as opened:
        yield opened
