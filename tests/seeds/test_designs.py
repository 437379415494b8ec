"""docs/designs.md: every deviation on the page is tested in the tests of its document."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from apikit import designs, rows_of_design


@pytest.mark.parametrize("document", designs())
def test_every_deviation_is_named_by_a_test_of_its_document(document: str) -> None:
    (path,) = Path(__file__).parent.glob(f"test_{document.lower()}_*.py")
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    named = tuple(
        one.value
        for one in nodes
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value
    )
    assert rows_of_design(document)
    assert [
        row[0]
        for row in rows_of_design(document)
        if not any(row[0].startswith(term) for term in named if len(term) > 3)
    ] == []
