"""Draw the pictures of docs/images: screens of the terminal app on this repository's own lore.

    python tools/screenshots.py

Each is a real run of the app on a copy of the repository; nothing is made up.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
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
    Picture("browse", ("slash", *"git locks", "enter")),
    Picture("lore", ("slash", *"git locks", "enter", "enter", "v")),
    Picture("inbox", ("2", "j")),
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


def copied(folder: str) -> str:
    """A clone of the repository, whose lore has been judged and asked for a little."""
    import engram

    path = os.path.join(folder, "engram")
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), path], check=True)
    git = ["git", "-C", path, "-c", "user.name=Engram", "-c", "user.email=engram@localhost"]
    subprocess.run([*git, "checkout", "--quiet", "-B", "main"], check=True)
    subprocess.run([*git, "remote", "remove", "origin"], check=True)
    with engram.open(path, session="pictures") as store:
        answer = store.query("git locks and commits")
        store.query("why does a commit wait for the lock")
        for hit in answer.lore[:3]:
            store.feedback(helpful=[hit.lore.id])
    subprocess.run([*git, "commit", "--quiet", "--all", "--allow-empty", "-m", "Judged"], check=True)
    return path


def main() -> None:
    """Draw them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = folder
        shown = copied(folder)
        for picture in PICTURES:
            app = os.path.join(shown, ".git", "engram", "app.json")
            if os.path.exists(app):
                os.unlink(app)
            svg = asyncio.run(draw(picture, shown))
            svg = re.sub(r"@font-face \{.*?\}", "", svg.replace(shown, "~/engram"), flags=re.DOTALL)
            target = IMAGES / f"{picture.name}.svg"
            target.write_text(re.sub(r"terminal-\d+", "terminal", svg), "utf-8")
            print(f"{target.relative_to(ROOT)}  {len(svg) / 1000:.0f} kB")
        shutil.rmtree(shown)


if __name__ == "__main__":
    main()
