"""What docs/designs.md says of the design documents that `tests/seeds/` runs."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/designs.md"


def deviates(document: str, term: str) -> str:
    """The reason for which a term of a document (`B`) is not taken as it stands: there must be exactly one such row."""
    section = PAGE.read_text("utf-8").partition(f"\n## {document}: ")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    (row,) = [row for row in rows if term in row[0]]
    assert len(row) == 3, row
    assert all(row), row
    return row[2]
