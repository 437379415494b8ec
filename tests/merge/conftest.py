"""The clones that tests of the merge driver begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, dedicated, git, ok


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two clones of one store with one entry, in folders whose names hold a blank; both know the driver."""
    first, second = tmp_path / "a clone", tmp_path / "b clone"
    dedicated(first)
    ok("record", QUEUE + "\n\nMeasure it.\n\nThen decide.", "-c", "fact", cwd=first)
    git(tmp_path, "clone", "-q", str(first), str(second))
    ok("init", cwd=second)
    return first, second
