"""Markdown as one renderable. Textual's own makes a widget of each paragraph, item and cell, which can take seconds.

Nothing in it is active: a link is its text and its target, an image its description, HTML its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult

_STYLES = {
    "h1": "bold underline",
    "h2": "bold underline",
    "h3": "bold",
    "h4": "bold",
    "h5": "bold",
    "h6": "bold",
    "code": "bold",
    "code_block": "none",
    "block_quote": "italic",
    "item.bullet": "bold",
    "item.number": "bold",
    "hr": "dim",
    "link": "underline",
    "link_url": "underline",
    "table.header": "bold",
    "table.border": "dim",
}
_THEME = Theme({f"markdown.{name}": style for name, style in _STYLES.items()})


class Rendered:
    """Sanitized markdown for a `Static`."""

    def __init__(self, text: str) -> None:
        self._markdown = _PlainMarkdown(text, hyperlinks=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it in styles that every theme has."""
        with console.use_theme(_THEME):
            drawn: list[Segment] = list(console.render(self._markdown, options))
        return drawn


class _LeftHeading(Heading):
    """A heading aligned with the text."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(CodeBlock):
    """Code with a line on its left, without syntax highlighting."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        lines = console.render_lines(
            Text(str(self.text).rstrip()), options.update(width=max(1, options.max_width - 2))
        )
        rule = Segment("│ ", console.get_style("dim"))
        for line in lines:
            yield rule
            yield from line
            yield Segment.line()


class _PlainMarkdown(Markdown):
    """Markdown with these two elements."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
    }
