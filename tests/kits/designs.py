"""What docs/designs.md says of the design documents that `tests/seeds/` runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/designs.md"


def deviates(document: str, term: str) -> str:
    """The reason for which a term of a document (`B`) is not taken as it stands: one row begins with it."""
    (row,) = [row for row in rows(document) if row[0].startswith(term)]
    assert len(row) == 3, row
    assert all(row), row
    return row[2]


def rows(document: str) -> list[list[str]]:
    """What the page says of a document: the term, what is here, and why, in each row."""
    section = PAGE.read_text("utf-8").partition(f"\n## {document}: ")[2].partition("\n## ")[0]
    lines = [line.strip("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split(" | ")] for line in lines][1:]


def documents() -> list[str]:
    """The documents that the page tells about."""
    return re.findall(r"^## (\w): ", PAGE.read_text("utf-8"), re.MULTILINE)
