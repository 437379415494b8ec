"""Screens as text or SVG, compared with tests/data/snapshots.

WRITE_SNAPSHOTS=1 in the environment rewrites them: check the difference before you commit it.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual._compositor import Compositor
from tui_kit import render_update

if TYPE_CHECKING:
    from tui_kit import User

FOLDER = Path(__file__).parents[1] / "data/snapshots"
WRITE = "WRITE_SNAPSHOTS"


def text_of(user: User) -> str:
    """Return the screen without what differs between runs: the store's path, durations, ids, commits, trailing spaces."""
    first, *others = [line.rstrip() for line in user.screen().splitlines()]
    first = re.sub(r"engram  \S+", "engram  STORE", first)
    text = "\n".join([first, *others]) + "\n"
    for varies in (
        r"\b[0-9a-f]{10}(?=,| ·)",
        r"\b01[0-9A-HJKMNP-TV-Z]{24}\b",
        r"[0-9A-HJKMNP-TV-Z]{3,}(?=\.md)",
    ):
        text = re.sub(varies, lambda found: "X" * len(found[0]), text)
    return re.sub(r"\b\d+ ms", "N ms", text)


async def at_rest(user: User) -> None:
    """Wait until the screen stops changing."""
    before = ""
    while before != (before := text_of(user)):
        await user.pilot.pause(0.1)


def svg_of(user: User) -> str:
    """Return the screen with colours and styles, without Textual's generated names and the path of the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", render_update)
        svg = user.app.export_screenshot(title="engram", simplify=True)
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r">engram&#160;.*?<", ">engram<", re.sub(r"terminal-\d+", "terminal", svg))


def is_as_kept(name: str, found: str) -> bool:
    """Return whether this equals the snapshot of that name; write the snapshot if requested."""
    kept = FOLDER / name
    if os.environ.get(WRITE):
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(found, "utf-8")
    wanted = kept.read_text("utf-8")
    apart = "\n".join(
        difflib.unified_diff(wanted.splitlines(), found.splitlines(), "kept", "found", lineterm="", n=1)
    )
    assert found == wanted, f"tests/data/snapshots/{name}, see tests/kits/tui_snapshots.py:\n{apart}"
    return True
