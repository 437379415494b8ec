"""Links in a text, except in frontmatter, code and addresses."""

from __future__ import annotations

from engram.domain.entry.text_links import text_links


def test_links_in_frontmatter_code_and_addresses_are_ignored() -> None:
    text = "---\ntags: [[a]]\n---\n`[[b]]` [[c|shown]] ``[[d]]``\n```\n[[e]]\n```\n[f](g%20h.md#i) [j](#k) [l](mailto:m)"
    text += "\n<!-- [[[end]]] --> ([m]([https://n.example/o](https://n.example/p)))"
    assert [(one.target, one.line, one.is_wiki) for one in text_links(text)] == [
        ("c", 4, True),
        ("g%20h.md", 8, False),
    ]
