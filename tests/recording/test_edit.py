"""Editing entries: what a caller names changes, and nothing else."""

from __future__ import annotations

import engram


def test_edit_is_a_name_of_the_package_and_still_at_its_earlier_path() -> None:
    from engram.usecases.edit import Edit as EarlierEdit
    from engram.usecases.recording.edit import Edit

    assert engram.Edit is Edit
    assert EarlierEdit is Edit
