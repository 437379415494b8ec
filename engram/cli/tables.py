"""Tables on a screen: columns in line, as wide as the terminal lets them be; where that is too little, a line a cell."""

from __future__ import annotations

from engram.cli.invocation import split_pair
from engram.cli.output import DIM, Output, cells, pad, shorten
from engram.domain.explore.tables import Table, format_cell
from engram.domain.text.safe_text import safe_text

_BETWEEN = "  "
_NARROWEST = 6
_READABLE = 8  # of a longer cell that much, or it tells nothing
_IDS = ("id", "other", "best")
_TIME = len("2026-03-04T05:06:07Z")
_DATE = len("2026-03-04")


def show_table(output: Output, table: Table) -> None:
    """Print a table: its columns' names, its rows, and whether there were more.

    Of times only the date stands where there is too little room for all; what cannot be read in a line then has a line
    for each cell.
    """
    lines = [[safe_text(format_cell(cell)) for cell in line] for line in (table.columns, *table.rows)]
    columns = list(zip(*lines, strict=True))
    dated = [_shorten_times(column) for column in columns]
    if _room(_column_widths(columns)) <= output.width:
        _show_rows(output, columns)
    elif table.rows and _room(_pieces(dated)) > output.width:
        _show_cells(output, columns)
    else:
        _show_rows(output, dated)
    if not table.rows:
        output.line("No rows.")
    if table.truncated:
        output.rule("… there are more rows: --limit shows more of them")


def _show_rows(output: Output, columns: list[tuple[str, ...]]) -> None:
    widths = _widths(tuple(column[0] for column in columns), _column_widths(columns), output.width)
    for number, line in enumerate(zip(*columns, strict=True)):
        text = _BETWEEN.join(map(pad, line, widths)).rstrip()
        output.line(text if number else output.styled(text, DIM))


def _show_cells(output: Output, columns: list[tuple[str, ...]]) -> None:
    """Print a line for each cell, after its column's name, and an empty one between rows."""
    indent = max(cells(column[0]) for column in columns) + len(_BETWEEN)
    for row in range(1, len(columns[0])):
        if row > 1:
            output.line()
        for column in columns:
            value = shorten(column[row], max(output.width - indent, _READABLE))
            output.line((output.styled(pad(column[0], indent), DIM) + value).rstrip())


def _column_widths(columns: list[tuple[str, ...]]) -> list[int]:
    return [max(map(cells, column)) for column in columns]


def _pieces(columns: list[tuple[str, ...]]) -> list[int]:
    """The widths below which nothing can be read: of each cell a piece, of ids all."""
    wanted = zip(columns, _column_widths(columns), strict=True)
    return [width if column[0] in _IDS else min(width, _READABLE) for column, width in wanted]


def _room(widths: list[int]) -> int:
    return sum(widths) + len(_BETWEEN) * (len(widths) - 1)


def _shorten_times(column: tuple[str, ...]) -> tuple[str, ...]:
    """A column of times as dates; any other as it is."""
    values = [cell for cell in column[1:] if cell]
    times = values and all(
        len(cell) == _TIME and cell[_DATE] == "T" and cell.endswith("Z") for cell in values
    )
    return (column[0], *(cell[:_DATE] for cell in column[1:])) if times else column


def _widths(columns: tuple[str, ...], wanted: list[int], room: int) -> list[int]:
    """Widths that fit: the widest columns give way first, those with ids last."""
    widths = list(wanted)
    left = _room(widths) - room
    for giving in ([at for at, name in enumerate(columns) if name not in _IDS], range(len(widths))):
        while left > 0 and (widest := max(giving, key=widths.__getitem__, default=-1)) >= 0:
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            left -= 1
    return widths


def pairs(given: list[str]) -> dict[str, object]:
    """`name=value` as parameters of SQL: what looks like a number is one. Raises UsageError."""
    hint = "Write --param name=value, and :name in the SQL."
    split = (split_pair(one, "a parameter", hint) for one in given)
    return {name.lstrip(":"): _value(value) for name, value in split}


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
