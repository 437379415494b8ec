"""The section of docs/benchmarks.md that `peers.py` writes and `run.py`, which writes the rest, preserves."""

from __future__ import annotations

_BEGIN, _END = "<!-- peers: begin -->", "<!-- peers: end -->"


def write_section(text: str, path: str) -> None:
    """Put the section into a document, in the place of the one before."""
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    before, _, rest = whole.partition(_BEGIN)
    after = rest.partition(_END)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before.rstrip()}\n\n{_BEGIN}\n{text}{_END}\n{after.lstrip()}")


def kept_section(path: str) -> str:
    """The section as it stands in a document, to be put behind what is written anew; "" where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            _, mark, rest = file.read().partition(_BEGIN)
    except FileNotFoundError:
        return ""
    return f"\n{_BEGIN}{rest.partition(_END)[0]}{_END}\n" if mark else ""
