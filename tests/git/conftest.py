"""The repositories that tests of git begin with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import CODE_AND_LORE, repository_of

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository of code and lore in which a person works."""
    return repository_of(tmp_path / "repo", CODE_AND_LORE)
