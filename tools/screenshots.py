"""Draw the pictures of docs/images: screens of the terminal app on the lore of `engram demo`.

    python tools/screenshots.py

Each is a real run of the app on real clones.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from engram_tui.app import EngramApp

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tui")]
IMAGES = ROOT / "docs" / "images"
SIZE = (120, 34)
PATIENCE = 400  # looks, 25 ms apart
QUIET = 6  # looks at which nothing is asked any more


class Picture(NamedTuple):
    """A file's name, and the keys that lead to what it shows."""

    name: str
    keys: tuple[str, ...]


PICTURES = (
    Picture("browse", ("1", "slash", *"queue retry", "enter")),
    Picture("lore", ("1", "slash", *"queue retry", "enter", "enter", "v")),
    Picture("inbox", ("2",)),
    Picture("proposal", ("2", "j", "enter", "y")),
)


async def draw(picture: Picture, path: str) -> str:
    """The app as it is after these keys, as SVG."""
    import engram
    from engram_tui.app import EngramApp

    with engram.open(path, session="pictures") as store:
        app = EngramApp(store)
        async with app.run_test(size=SIZE) as pilot:
            for _ in range(PATIENCE):
                await pilot.pause(0.025)
                if app.heading is not None:
                    break
            for key in picture.keys:
                await pilot.press({" ": "space"}.get(key, key))
                await at_rest(app, pilot)
            await pilot.pause(1.0)
            return app.export_screenshot(title="engram", simplify=True)


async def at_rest(app: EngramApp, pilot: Pilot[None]) -> None:
    """Wait until nothing is asked of the store for a moment."""
    quiet = 0
    for _ in range(PATIENCE * 4):
        quiet = 0 if any(worker.is_running for worker in app.workers) else quiet + 1
        if quiet == QUIET:
            return
        await pilot.pause(0.025)


def demonstration(folder: str) -> str:
    """The store of the demonstration, of which something has been asked."""
    import engram
    from engram_tui.first_run import make_demonstration

    path = make_demonstration(folder)
    with engram.open(path, session="pictures") as store:
        answer = store.query("what retries of the queue must do")
        store.query("which limits has the broker")
        for hit in answer.lore[:2]:
            store.feedback(helpful=[hit.lore.id])
    return path


def main() -> None:
    """Draw them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = folder
        shown = demonstration(folder)
        for picture in PICTURES:
            app = os.path.join(shown, ".git", "engram", "app.json")
            if os.path.exists(app):
                os.unlink(app)
            svg = asyncio.run(draw(picture, shown))
            svg = re.sub(r"@font-face \{.*?\}", "", svg.replace(shown, "~/team"), flags=re.DOTALL)
            target = IMAGES / f"{picture.name}.svg"
            target.write_text(re.sub(r"terminal-\d+", "terminal", svg), "utf-8")
            print(f"{target.relative_to(ROOT)}  {len(svg) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
