"""The section of docs/benchmarks.md that `peers.py` writes, and that `run.py`, which writes the rest, preserves."""

from __future__ import annotations

_BEGIN, _END = "<!-- peers: begin -->", "<!-- peers: end -->"


def write_section(text: str, path: str) -> None:
    """Replace the section in a document, or append it."""
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, _, rest = whole.partition(_BEGIN)
    after = rest.partition(_END)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before.rstrip()}\n\n{_BEGIN}\n{text}{_END}\n{after.lstrip()}")


def kept_section(path: str) -> str:
    """Return the section of a document with its markers, or "" if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            _, mark, rest = file.read().partition(_BEGIN)
    except FileNotFoundError:
        return ""
    return f"\n{_BEGIN}{rest.partition(_END)[0]}{_END}\n" if mark else ""
