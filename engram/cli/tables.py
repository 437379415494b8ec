"""Tables in a terminal: aligned columns that fit its width; if it is too narrow, one line for each cell."""

from __future__ import annotations

from engram.cli.invocation import split_pair
from engram.cli.output import DIM, Output, display_width, pad, shorten
from engram.domain.explore.tables import Table, format_cell
from engram.domain.text.safe_text import safe_text

_GAP = "  "
_NARROWEST = 6
_READABLE = 8  # columns that a longer cell needs to be of any use
_IDS = ("id", "other", "best")
_TIME = len("2026-03-04T05:06:07Z")
_DATE = len("2026-03-04")


def show_table(output: Output, table: Table) -> None:
    """Print a table: its header, its rows, and whether it was truncated.

    If it is too wide, times are shortened to dates; if that does not help, each cell gets its own line.
    """
    lines = [[safe_text(format_cell(cell)) for cell in line] for line in (table.columns, *table.rows)]
    columns = list(zip(*lines, strict=True))
    short_columns = [_shorten_times(column) for column in columns]
    if _total_width(_column_widths(columns)) <= output.width:
        _show_rows(output, columns)
    elif table.rows and _total_width(_least_widths(short_columns)) > output.width:
        _show_cells(output, columns)
    else:
        _show_rows(output, short_columns)
    if not table.rows:
        output.line("No rows.")
    if table.truncated:
        output.dim("… there are more rows: --limit shows more of them")


def _show_rows(output: Output, columns: list[tuple[str, ...]]) -> None:
    widths = _fit_widths(tuple(column[0] for column in columns), _column_widths(columns), output.width)
    for number, line in enumerate(zip(*columns, strict=True)):
        text = _GAP.join(map(pad, line, widths)).rstrip()
        output.line(text if number else output.styled(text, DIM))


def _show_cells(output: Output, columns: list[tuple[str, ...]]) -> None:
    """Print each cell on a line with its column's name, and an empty line between rows."""
    indent = max(display_width(column[0]) for column in columns) + len(_GAP)
    for row in range(1, len(columns[0])):
        if row > 1:
            output.line()
        for column in columns:
            value = shorten(column[row], max(output.width - indent, _READABLE))
            output.line((output.styled(pad(column[0], indent), DIM) + value).rstrip())


def _column_widths(columns: list[tuple[str, ...]]) -> list[int]:
    return [max(map(display_width, column)) for column in columns]


def _least_widths(columns: list[tuple[str, ...]]) -> list[int]:
    """Return the widths below which the columns are unreadable; ids are not shortened at all."""
    full = zip(columns, _column_widths(columns), strict=True)
    return [width if column[0] in _IDS else min(width, _READABLE) for column, width in full]


def _total_width(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _shorten_times(column: tuple[str, ...]) -> tuple[str, ...]:
    """Shorten a column of times to dates; return any other as it is."""
    values = [cell for cell in column[1:] if cell]
    times = values and all(
        len(cell) == _TIME and cell[_DATE] == "T" and cell.endswith("Z") for cell in values
    )
    return (column[0], *(cell[:_DATE] for cell in column[1:])) if times else column


def _fit_widths(names: tuple[str, ...], widths: list[int], limit: int) -> list[int]:
    """Reduce widths to fit `limit` columns: the widest first, ids last."""
    widths = list(widths)
    excess = _total_width(widths) - limit
    for candidates in ([at for at, name in enumerate(names) if name not in _IDS], range(len(widths))):
        while excess > 0 and (widest := max(candidates, key=widths.__getitem__, default=-1)) >= 0:
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            excess -= 1
    return widths


def parse_parameters(given: list[str]) -> dict[str, object]:
    """Parse `name=value` as parameters of SQL, numbers where they look like one. Raises UsageError."""
    hint = "Write --param name=value, and :name in the SQL."
    pairs = (split_pair(text, "a parameter", hint) for text in given)
    return {name.lstrip(":"): _parse_value(value) for name, value in pairs}


def _parse_value(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
