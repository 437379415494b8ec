"""Editing entries: what a caller names changes, and nothing else."""

from __future__ import annotations

import engram


def test_edit_is_a_name_of_the_package_and_still_at_its_earlier_path() -> None:
    from engram.usecases import edit as earlier_path
    from engram.usecases.recording.edit import Edit

    assert engram.Edit is Edit
    assert earlier_path.Edit is Edit
