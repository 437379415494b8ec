"""The text below a title does not repeat it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.domain.entry.lore import Lore
from engram_tui.widgets.preview import body_of


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("# Title #\n\nText", "Text"),
        ("# Title\nText", "Text"),
        ("One line.", ""),
        ("First line.\n\nMore", "More"),
        ("First line\ngoes on", "First line\ngoes on"),
        ("x" * 200, "x" * 200),
    ],
)
def test_the_text_does_not_repeat_its_title(content: str, body: str) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert body_of(Lore("ID", content, "FACT", moment, moment)).strip() == body
