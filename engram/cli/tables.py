"""Tables on a screen: columns in line, as wide as the terminal lets them be."""

from __future__ import annotations

from engram.cli.output import DIM, cells, fitted
from engram.domain.safe_text import safe_text
from engram.domain.tables import said
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.cli.output import Output
    from engram.domain.tables import Table

_BETWEEN = "  "
_NARROWEST = 6
_IDS = ("id", "other", "best")


def show_table(output: Output, table: Table) -> None:
    """Print a table: its columns' names, its rows, and whether there were more."""
    lines = [[safe_text(said(cell)) for cell in line] for line in (table.columns, *table.rows)]
    wanted = [max(map(cells, column)) for column in zip(*lines, strict=True)]
    widths = _widths(table.columns, wanted, output.width)
    for number, line in enumerate(lines):
        text = _BETWEEN.join(map(fitted, line, widths)).rstrip()
        output.line(text if number else output.styled(text, DIM))
    if not table.rows:
        output.line("No rows.")
    if table.truncated:
        output.rule("… there are more rows: --limit shows more of them")


def _widths(columns: tuple[str, ...], wanted: list[int], room: int) -> list[int]:
    """Widths that fit: the widest columns give way first, those with ids last."""
    widths = list(wanted)
    left = sum(widths) + len(_BETWEEN) * (len(widths) - 1) - room
    for giving in ([at for at, name in enumerate(columns) if name not in _IDS], range(len(widths))):
        while left > 0 and (widest := max(giving, key=widths.__getitem__, default=-1)) >= 0:
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            left -= 1
    return widths


def pairs(given: list[str]) -> dict[str, object]:
    """`name=value` as parameters of SQL: what looks like a number is one. Raises UsageError."""
    from engram.domain.errors import UsageError

    found: dict[str, object] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise UsageError(
                f"'{one[:60]}' is no parameter.", "Write --param name=value, and :name in the SQL."
            )
        found[name.lstrip(":")] = _value(value)
    return found


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
