"""Draw the pictures of docs/images and the animated tour: the terminal app on the lore of `engram demo`.

    python tools/screenshots.py [FOLDER]    (default: docs/images)

Each is a real run of the app on real clones. Only the time of queries is fixed, as the width of columns depends on it and a
test compares the pictures character by character.
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
MAX_POLLS = 400  # 25 ms apart
QUIET_POLLS = 6  # in a row without a running query


class Picture(NamedTuple):
    """The name of a file, and the keys that lead to its screen."""

    name: str
    keys: tuple[str, ...]


PICTURES = (
    Picture("browse", ("1", "slash", *"queue retry", "enter")),
    Picture("lore", ("1", "slash", *"queue retry", "enter", "enter", "v")),
    Picture("inbox", ("2",)),
    Picture("proposal", ("2", "j", "enter", "y")),
)

TOUR_SIZE = (100, 28)
QUERY_MS = 4.2
FRAME_SECONDS = 4
TOUR = (  # the title of a frame, and the keys that lead to it
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
    """Return the app after these keys, as SVG."""
    import engram
    from engram_tui.app import EngramApp

    with engram.open(path, session="pictures") as store:
        app = EngramApp(store)
        async with app.run_test(size=SIZE) as pilot:
            for _ in range(MAX_POLLS):
                await pilot.pause(0.025)
                if app.heading is not None:
                    break
            for key in picture.keys:
                await pilot.press({" ": "space"}.get(key, key))
                await wait_until_quiet(app, pilot)
            await pilot.pause(1.0)
            return app.export_screenshot(title="engram", simplify=True)


async def draw_tour(path: str) -> list[str]:
    """Return the frames of the tour, as SVG."""
    import engram
    from engram_tui.app import EngramApp

    frames = []
    with engram.open(path, session="pictures") as store:
        app = EngramApp(store)
        app.NOTIFICATION_TIMEOUT = FRAME_SECONDS / 4
        async with app.run_test(size=TOUR_SIZE, notifications=True) as pilot:
            for title, keys in TOUR:
                for key in keys:
                    await pilot.press({" ": "space"}.get(key, key))
                    await wait_until_quiet(app, pilot)
                await pilot.pause(0.5)
                frames.append(app.export_screenshot(title=title, simplify=True))
    return frames


def animate(frames: Sequence[str]) -> str:
    """Return an animation that shows these frames in a loop."""
    duration, share = FRAME_SECONDS * len(frames), 100 / len(frames)
    box = re.search(r'viewBox="([^"]*)"', frames[0])
    assert box is not None
    rules = f".frame {{ visibility: hidden; animation: show {duration}s step-end infinite }}"
    rules += f"@keyframes show {{ 0% {{ visibility: visible }} {share:.3f}% {{ visibility: hidden }} }}"
    parts = [f'<svg viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg"><style>{rules}</style>']
    for number, frame in enumerate(frames):
        renamed = re.sub(r"terminal-\d+|terminal(?=[-.])", f"t{number}", frame)
        parts.append(f'<g class="frame" style="animation-delay: {number * FRAME_SECONDS}s">{renamed}</g>')
    return "\n".join([*parts, "</svg>", ""])


async def wait_until_quiet(app: EngramApp, pilot: Pilot[None]) -> None:
    """Wait until no query has been running for a moment."""
    quiet_polls = 0
    for _ in range(MAX_POLLS * 4):
        quiet_polls = 0 if any(worker.is_running for worker in app.workers) else quiet_polls + 1
        if quiet_polls == QUIET_POLLS:
            return
        await pilot.pause(0.025)


def make_demonstration_store(folder: str) -> str:
    """Make the store of the demonstration, with queries about an hour ago: the same age for as long as the drawing takes."""
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
    """Draw all pictures into a folder."""
    from engram.usecases.store import activity_log

    activity_log.milliseconds_since = lambda _store, _began_ns: QUERY_MS
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_DATA_HOME"] = folder
        path = make_demonstration_store(folder)
        for picture in PICTURES:
            last_run = os.path.join(path, ".git", "engram", "app.json")
            if os.path.exists(last_run):
                os.unlink(last_run)
            svg = re.sub(r"terminal-\d+", "terminal", asyncio.run(draw(picture, path)))
            save(target / f"{picture.name}.svg", svg, path)
        path = make_demonstration_store(tempfile.mkdtemp(dir=folder))  # without decisions made for pictures
        save(target / "tour.svg", animate(asyncio.run(draw_tour(path))), path)


def save(target: Path, svg: str, store: str) -> None:
    """Write a picture without remote fonts and without the path of the store."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace(store, "~/team").replace(os.path.dirname(store), "~")
    target.write_text(svg, "utf-8")
    print(f"{target}  {len(svg) / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
