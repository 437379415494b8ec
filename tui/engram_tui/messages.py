"""What worker threads tell the screen. Each result names the question it answers, so that a late one is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from engram.usecases.feedback import Judged
    from engram.usecases.listing import Shown
    from engram_tui.reading import Heading, Matches, Page


class Listed(Message):
    """The list of lore, or its first page."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page


class Matched(Message):
    """What a search found."""

    def __init__(self, matches: Matches) -> None:
        super().__init__()
        self.matches = matches


class Fetched(Message):
    """The lore to preview: asked for by `wanted`; where it cannot be read, `trouble` says why."""

    def __init__(self, wanted: str, shown: Shown | None, trouble: str = "") -> None:
        super().__init__()
        self.wanted = wanted
        self.shown = shown
        self.trouble = trouble


class Described(Message):
    """Where the store is and how it does."""

    def __init__(self, heading: Heading) -> None:
        super().__init__()
        self.heading = heading


class Voted(Message):
    """A lore was judged."""

    def __init__(self, judged: Judged, title: str) -> None:
        super().__init__()
        self.judged = judged
        self.title = title


class Failed(Message):
    """Something expected went wrong: what happened and what to do, in one line."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line
