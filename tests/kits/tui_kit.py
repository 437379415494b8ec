"""A user of the app: presses keys, waits until the screen shows the expected, and reads it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from effort import sampled
from storekit import SteadyClock
from textual import events
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet
from textual.widgets import Static

import engram
from engram_tui.app import EngramApp
from engram_tui.browse.screen import BrowseScreen
from engram_tui.shell import key_queue

if TYPE_CHECKING:
    from textual.css.model import RuleSet
    from textual.pilot import Pilot

    from engram.domain.entry.lore import Lore
    from engram.usecases.lookup.listing import Shown

WIDE, NARROW = (120, 40), (80, 24)
# Usually the smallest size; what depends on the size is tested at both.
SIZES = sampled("size", [NARROW, WIDE], ids=["80x24", "120x40"])
TYPED = 50  # polls for keys that wait, as they do while something is opening
PATIENCE = 1500  # polls of the screen, 20 ms apart; reached only on failure
LORE = [
    ("Money is stored as integer cents, never as float.", "ARCHITECTURAL_DECISION"),
    ("Sessions expire after 12 hours; the proxy cuts them earlier for admins.", "EDGE_CASE_DISCOVERY"),
    ("Retry with full jitter; equal waits synchronised the clients.", "FAILURE"),
    (
        "# Queue consumers must be idempotent\n\nThe broker **redelivers** after a missed ack.",
        "PATTERN_OUTCOME",
    ),
]
MONEY, SESSIONS, RETRY, QUEUE = (text.lstrip("# ").split("\n")[0] for text, _ in LORE)


def make_template(folder: Path, clock: SteadyClock | None = None) -> Path:
    """Make a store of four entries; the one about the queue is the newest."""
    clock = clock or SteadyClock()  # two in a millisecond keep their order
    with engram.open(folder / "s", session="t", clock=clock) as store:
        for content, category in LORE:
            store.record(content, category=category, tags=["demo"])
    return folder / "s"


def open_copy(template: Path, folder: Path) -> engram.Engram:
    """Open a copy of the template store."""
    shutil.copytree(template, folder / "s")
    return engram.open(folder / "s", session="t")


def open_without_editor(template: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> engram.Engram:
    """Open a copy of the template store without an editor, with settings below `folder`."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    (folder / "config" / "engram").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    return open_copy(template, folder)


def with_store(kind: str) -> pytest.MarkDecorator:
    """Mark a test whose `store` is a copy of the template of that name."""
    return pytest.mark.parametrize("store", [kind], indirect=True)


def lore(store: engram.Engram, title: str) -> Lore:
    """Return the entry with that title."""
    return shown(store, title).lore


def shown(store: engram.Engram, title: str) -> Shown:
    """Return the entry with that title, with its path. Raises NotFoundError."""
    found = [one for one in store.list(limit=None).lore if one.lore.title == title]
    return store.get(found[0].lore.id if found else title)


def titled(store: engram.Engram, start: str) -> Lore:
    """Return the entry whose title begins with this."""
    return next(one.lore for one in store.list(limit=None).lore if one.lore.title.startswith(start))


class User:
    """A user of the app."""

    def __init__(self, app: EngramApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        """Press keys one after another, and wait until each has been handled.

        The pilot alone mistakes a process without processor time for an idle one.
        """
        await self.pilot.press(*keys)
        keys_waiting = self.app._key_queue
        for _ in range(TYPED):
            if keys_waiting._task is None:
                break
            await asyncio.sleep(0.02)
        if self.app.is_running and self.app.screen_stack:
            await keys_waiting._quiet()

    @property
    def browse(self) -> BrowseScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, BrowseScreen))

    async def sees(self, expected: Callable[[], object]) -> None:
        for _ in range(PATIENCE):
            if expected():
                return
            await asyncio.sleep(0.02)  # unlike a pause of the pilot, it makes no work for widgets
        pytest.fail(f"The screen never showed it:\n{self.screen()}")

    async def sees_text(self, *texts: str) -> None:
        def shows() -> bool:
            screen = self.screen()  # painted once per poll
            return all(text in screen for text in texts)

        await self.sees(shows)

    def screen(self) -> str:
        """Return the whole screen as plain text."""
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.crop(0, width).text for strip in strips[:height])

    def text(self, name: str) -> str:
        return str(self.app.screen_stack[-1].query_one(f"#{name}", Static).render())

    def toasts(self) -> list[str]:
        return [f"{toast.title}: {toast.message}" for toast in self.app._notifications]

    async def told(self, *texts: str) -> None:
        """Wait for a toast with this text."""
        await self.sees(lambda: any(all(text in toast for text in texts) for toast in self.toasts()))

    def titles(self) -> list[str]:
        return [row.title for row in self.browse.entry_list.rows]

    def types(self, text: str) -> None:
        """Send all keys at once, as a paste or a slow connection does."""
        names = {
            "/": "slash",
            "\n": "enter",
            " ": "space",
            ":": "colon",
            "?": "question_mark",
            "\x1b": "escape",
        }
        for letter in text:
            printable = letter if letter.isprintable() else None
            self.app.post_message(events.Key(names.get(letter, letter), printable))

    async def searches(self, text: str) -> None:
        self.types(f"/{text}")
        await self.sees(lambda: self.browse.matches and self.browse.matches.text == text)


@asynccontextmanager
async def run_app(store: engram.Engram, size: tuple[int, int] = WIDE) -> AsyncIterator[User]:
    """Run the app, with its list and first line shown."""
    app = EngramApp(store)
    app.NOTIFICATION_TIMEOUT = 600  # so that a slow machine does not miss a toast
    with painted_when_looked_at():
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            user = User(app, pilot)
            await user.sees(lambda: app.heading is not None and app._token)
            yield user
            user.screen()


@contextmanager
def painted_when_looked_at() -> Iterator[None]:
    """Paint a screen only when the user looks at it, before each key of a tour, and before the app ends.

    Otherwise every frame would be painted and discarded, which takes a third of a test's time.
    """

    def forget(compositor: Compositor, **_options: object) -> None:
        compositor._dirty_regions.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_queue, "PATIENCE", 5.0)  # otherwise keys may get out of order on a busy machine
        patch.setattr(key_queue, "LONGEST", 60.0)  # otherwise they may be dropped
        patch.setattr(Compositor, "render_update", forget)
        patch.setattr(Stylesheet, "_parse_rules", _parse_once)
        yield


render_update = Compositor.render_update
_parse_rules = Stylesheet._parse_rules
_parsed_rules: dict[tuple[object, ...], list[RuleSet]] = {}


def _parse_once(stylesheet: Stylesheet, *what: Any, **options: Any) -> list[RuleSet]:
    """Return the rules of Textual's widgets and ours, which every app would parse again."""
    key = (*what, *sorted(options.items()), frozenset(stylesheet._variables.items()))
    if key not in _parsed_rules:
        _parsed_rules[key] = _parse_rules(stylesheet, *what, **options)
    return _parsed_rules[key]
