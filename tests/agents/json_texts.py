"""Hypothesis strategies for JSON text with the spaces, comments and commas that people write."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from engram.adapters.agents.jsonc import Document

keys = st.sampled_from(["a", "b c", "hooks", "mcpServers", "permissions", "allow", "Stop", "ünï", "engrams"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "x", "//", "/*", '"', "{,}", "\u2028"]),
)
gaps = st.sampled_from(["", " ", "\n", "\t", "\r\n", "\n  ", " // note\n", "/* a } */", "\n    // b ]\n  "])


@st.composite
def json_texts(draw: st.DrawFn, depth: int = 0) -> str:
    """Generate a value as text, with unusual gaps."""
    kind = (
        draw(st.sampled_from(["object", "array", "scalar"]))
        if 0 < depth < 3
        else "object"
        if not depth
        else "scalar"
    )
    if kind == "scalar":
        return json.dumps(draw(scalars), ensure_ascii=draw(st.booleans()))
    count = draw(st.integers(0, 3))
    gap = [draw(gaps) for _ in range(4 * count + 1)]
    parts = [draw(json_texts(depth + 1)) for _ in range(count)]
    if kind == "object":
        names = draw(st.lists(keys, min_size=count, max_size=count, unique=True))
        parts = [
            f"{json.dumps(name)}{gap[4 * n]}:{gap[4 * n + 1]}{part}"
            for n, (name, part) in enumerate(zip(names, parts, strict=True))
        ]
    body = ",".join(f"{gap[4 * n + 2]}{part}{gap[4 * n + 3]}" for n, part in enumerate(parts))
    trailing = "," if count and draw(st.booleans()) else ""
    opening, closing = ("{", "}") if kind == "object" else ("[", "]")
    return opening + body + trailing + gap[-1] + closing


def plain(text: str) -> Any:
    return Document(text).root.plain()
