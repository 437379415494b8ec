"""Draw the pictures of docs/images, and the tour, a picture that moves: the terminal app on the lore of `engram demo`.

    python tools/screenshots.py [FOLDER]    (default: docs/images)

Each is a real run of the app on real clones. Only how long a query took is always the same: columns are as wide as that
number is long, and a test compares the pictures letter by letter.
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
    from collections.abc import Sequence

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

TOUR_SIZE = (100, 28)
TOOK = 4.2  # milliseconds
SECONDS = 4  # for which each frame of the tour stands
TOUR = (  # what is said above a frame, and the keys that lead to it
    ("What waits for a person, worth most first", ("2",)),
    ("enter: a dispute; two people changed one entry at once", ("enter",)),
    ("y: as Engram proposes; u would undo it", ("y",)),
    ("esc, j: two entries that say the same", ("escape", "j", "j", "j", "j")),
    ("t: the newer supersedes the older", ("t",)),
    ("g, enter: what Bob proposes, entry by entry", ("g", "enter")),
    ("y: accept the first …", ("y",)),
    ("y: … and what changes an entry", ("y",)),
    ("x: reject the last, with a reason", ("x", *"it hides the cause")),
    ("enter: it goes back with the reason", ("enter",)),
    ("i: bring them in; it asks, as it pushes", ("i",)),
    ("y: they are part of the lore, for everybody", ("y",)),
    ("U: what can be undone", ("U",)),
    ("1 /: a search as you type, by words and meaning", ("escape", "1", "slash", *"queue retry")),
    ("enter, enter: an entry with its facts and links", ("enter", "enter")),
    ("4: what came in, and what waits to be sent", ("escape", "4")),
    ("6: what agents and people asked and got", ("6",)),
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


async def draw_tour(path: str) -> list[str]:
    """The frames of the tour, as SVG."""
    import engram
    from engram_tui.app import EngramApp

    frames = []
    with engram.open(path, session="pictures") as store:
        app = EngramApp(store)
        app.NOTIFICATION_TIMEOUT = SECONDS / 4
        async with app.run_test(size=TOUR_SIZE, notifications=True) as pilot:
            for title, keys in TOUR:
                for key in keys:
                    await pilot.press({" ": "space"}.get(key, key))
                    await at_rest(app, pilot)
                await pilot.pause(0.5)
                frames.append(app.export_screenshot(title=title, simplify=True))
    return frames


def animated(frames: Sequence[str]) -> str:
    """One picture that shows these one after another, and begins anew after the last."""
    whole, share = SECONDS * len(frames), 100 / len(frames)
    box = re.search(r'viewBox="([^"]*)"', frames[0])
    assert box is not None
    rules = f".frame {{ visibility: hidden; animation: show {whole}s step-end infinite }}"
    rules += f"@keyframes show {{ 0% {{ visibility: visible }} {share:.3f}% {{ visibility: hidden }} }}"
    parts = [f'<svg viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg"><style>{rules}</style>']
    for number, frame in enumerate(frames):
        own = re.sub(r"terminal-\d+|terminal(?=[-.])", f"t{number}", frame)
        parts.append(f'<g class="frame" style="animation-delay: {number * SECONDS}s">{own}</g>')
    return "\n".join([*parts, "</svg>", ""])


async def at_rest(app: EngramApp, pilot: Pilot[None]) -> None:
    """Wait until nothing is asked of the store for a moment."""
    quiet = 0
    for _ in range(PATIENCE * 4):
        quiet = 0 if any(worker.is_running for worker in app.workers) else quiet + 1
        if quiet == QUIET:
            return
        await pilot.pause(0.025)


def demonstration(folder: str) -> str:
    """The store of the demonstration, of which something has been asked: an hour ago, which it still is when all is drawn."""
    import engram
    from engram.usecases.placement.team_demo import Earlier
    from engram_tui.first_run import make_demonstration

    path = make_demonstration(folder)
    with engram.open(path, session="pictures") as store:
        store.store.clock = Earlier(1.2)
        store.configure("record.machine", "desk")
        answer = store.query("what retries of the queue must do")
        store.query("which limits has the broker")
        for hit in answer.lore[:2]:
            store.feedback(helpful=[hit.lore.id])
    return path


def main(target: Path = IMAGES) -> None:
    """Draw them all into a folder."""
    from engram.usecases.store import activity_log

    activity_log.milliseconds_since = lambda _store, _began_ns: TOOK
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = folder
        shown = demonstration(folder)
        for picture in PICTURES:
            last_run = os.path.join(shown, ".git", "engram", "app.json")
            if os.path.exists(last_run):
                os.unlink(last_run)
            svg = re.sub(r"terminal-\d+", "terminal", asyncio.run(draw(picture, shown)))
            save(target / f"{picture.name}.svg", svg, shown)
        shown = demonstration(tempfile.mkdtemp(dir=folder))  # in which nothing is decided yet
        save(target / "tour.svg", animated(asyncio.run(draw_tour(shown))), shown)


def save(path: Path, svg: str, shown: str) -> None:
    """Write a picture without fonts to fetch and without the path of the store."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace(shown, "~/team").replace(os.path.dirname(shown), "~")
    path.write_text(svg, "utf-8")
    print(f"{path}  {len(svg) / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
