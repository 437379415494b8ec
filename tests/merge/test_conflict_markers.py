"""Both sides of a file in which git left markers, byte for byte."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.adapters.files.merge.conflict_markers import split_sides

lines = st.sampled_from(["a", "b", "", "# x", "=======", "id: 1", "|", "<<<<"])
texts = st.lists(lines, max_size=6).map(lambda found: "".join(f"{line}\n" for line in found).encode())


@example(base=b"a\n\n", ours=b"a\na\n", theirs=b"b\na\n", style="")
@example(base=b"a\nb\na\n", ours=b"b\n", theirs=b"a\nb\nb\na\n", style="")
@given(base=texts, ours=texts, theirs=texts, style=st.sampled_from(["", "--diff3"]))
def test_both_sides_are_read_back_from_the_markers_that_git_writes(
    base: bytes, ours: bytes, theirs: bytes, style: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "sides"
    folder.mkdir(exist_ok=True)
    for name, content in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(content)
    command = ["git", "merge-file", "-p", *([style] if style else []), "ours", "base", "theirs"]
    made = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if made.returncode == 0:
        return
    if any(b"=======" in version for version in (base, ours, theirs)):
        return  # what underlines a heading cannot be told from a marker inside of a conflict
    found = split_sides(made.stdout)
    assert found is not None
    # What one side alone changed, git has merged into both.
    for favoured, side in (("--ours", found.ours), ("--theirs", found.theirs)):
        assert (
            side == subprocess.run([*command, favoured], cwd=folder, capture_output=True, check=True).stdout
        )
    assert (found.base is not None) == (style == "--diff3")


@pytest.mark.parametrize(
    "text",
    [
        b"<<<<<<< a\nx\n",
        b"<<<<<<< a\nx\n>>>>>>> b\n",
        b"<<<<<<< a\n<<<<<<< a\n=======\n>>>>>>> b\n",
        b">>>>>>> b\n",
        b"||||||| b\n",
        b"x\n=======\n",
        b"",
    ],
)
def test_an_incomplete_conflict_has_no_sides(text: bytes) -> None:
    assert split_sides(text) is None


def test_line_ends_and_a_missing_last_one_stay() -> None:
    found = split_sides(b"a\r\n<<<<<<< x\r\nb\r\n=======\r\nc\r\n>>>>>>> y\r\nd")
    assert found == (b"a\r\nb\r\nd", b"a\r\nc\r\nd", None)
