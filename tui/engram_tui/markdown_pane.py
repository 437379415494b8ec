"""A pane that scrolls by keys and shows markdown: rendered where that is quick, else as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from engram.domain.safe_text import safe_text
from engram_tui.markdown_cost import is_light

if TYPE_CHECKING:
    from textual.widgets import Markdown


class MarkdownPane(VerticalScroll, can_focus=True):
    """Has a `Static` called `plain`, and before it, once needed, a `Markdown` called `body`."""

    DEFAULT_CSS = """
    MarkdownPane > Markdown { padding: 0; margin: 0; background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Links in lore are other people's: show where one leads, open nothing."""
        event.stop()
        self.notify(safe_text(event.href), title="This link leads to", markup=False)

    @work(exclusive=True, group="body", exit_on_error=False)
    async def put_body(self, body: str) -> None:
        """Exclusive, so that moving on quickly leaves no queue of renderings behind."""
        light = is_light(body)
        plain = self.query_one("#plain", Static)
        if not light or not (body or self.query("#body")):
            for markdown in self.query("#body"):
                markdown.display = False
            plain.display = not light
            plain.update("" if light else body)
            return
        markdown = await self._markdown()
        markdown.display, plain.display = bool(body), False
        await markdown.update(body)

    async def _markdown(self) -> Markdown:
        """The widget for markdown, made when first needed: importing it costs a tenth of the first paint."""
        from textual.widgets import Markdown

        for markdown in self.query(Markdown):
            return markdown
        markdown = Markdown(id="body", open_links=False)
        await self.mount(markdown, before="#plain")
        return markdown
