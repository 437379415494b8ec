"""Only light markdown is rendered."""

from __future__ import annotations

import pytest

from engram_tui.widgets.markdown_pane import is_light, measure_nesting


@pytest.mark.parametrize(
    "heavy",
    [
        "x" * 4001,
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 200,
        "|a" * 20 + "|\n" + "|-" * 20 + "|\n",
        ">" * 20 + " a",
        "- " * 20 + "a",
        "\t" * 15 + "- a",
    ],
    ids=["long", "table", "wide table", "quotes", "list in list", "indented"],
)
def test_heavy_markdown_is_known(heavy: str) -> None:
    assert not is_light(heavy)


def test_common_markdown_is_light() -> None:
    assert is_light(
        "# A\n\nText with `code`.\n\n- one\n  - two\n\n```python\nif a:\n    b\n```\n\n|a|b|\n|-|-|\n|1|2|\n"
    )
    assert measure_nesting("plain\n\n> quote") == 1
