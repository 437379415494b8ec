"""Replacements for SQLite functions whose calls may take long: they check the deadline and the size of the result.

SQLite checks no deadline while a function runs, nor between two calls outside a loop. With these, a call takes about 15
ms at most.
"""

from __future__ import annotations

import re
import sqlite3

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Value = str | bytes | int | float | None

# A short format can produce up to 2 GB, in some versions even beyond SQLite's limit.
_FORMATTING = ("printf", "format")
# Their time grows with the product of two lengths. With the number of arguments; the operators LIKE and GLOB call these, too.
_SEARCHING = (("instr", 2), ("replace", 3), ("like", 2), ("like", 3), ("glob", 2))

# A conversion of SQLite's printf(): flags, width, precision, size, kind.
_CONVERSION = re.compile(r"%[-+ #!0,]*(\*|[0-9]*)(?:\.(\*|[0-9]*))?l{0,2}(.)", re.DOTALL)
_KINDS = frozenset("diuoxXpcsqQwzfeEgGr")  # each takes a value
_MOST_DIGITS = 9  # read of a number in a format: enough to see that it is too large


def as_text(raw: bytes) -> str:
    """Decode SQLite's text, which may be cut within a character."""
    return raw.decode("utf-8", "replace")


class Bounded:
    """These functions for one connection. Each call first stops the statement if `must_stop` returns true."""

    def __init__(self, limits: Mapping[int, int], must_stop: Callable[[], bool]) -> None:
        """Take SQLite's limits by category, which apply to arguments and results of the functions."""
        self.why = ""  # why a call failed
        self._must_stop = must_stop
        self._most_characters = limits[sqlite3.SQLITE_LIMIT_LENGTH]
        self._native = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._native.text_factory = as_text
        for category, most in limits.items():
            self._native.setlimit(category, most)

    def close(self) -> None:
        """Close the connection that calls SQLite's own functions."""
        self._native.close()

    def add_to(self, connection: sqlite3.Connection) -> None:
        """Replace SQLite's own functions."""
        for name in _FORMATTING:
            connection.create_function(name, -1, self._guard_format(name), deterministic=True)
        for name, count in _SEARCHING:
            connection.create_function(name, count, self._guard(name), deterministic=True)

    def _guard(self, name: str) -> Callable[..., Value]:
        """Return SQLite's own function `name`, called unless the statement must stop."""

        def call(*values: Value) -> Value:
            if self._must_stop():
                raise TimeoutError
            try:
                places = ",".join("?" * len(values))
                (result,) = self._native.execute(f"SELECT {name}({places})", values).fetchone()
            except sqlite3.Error as error:
                self.why = str(error)
                raise
            return result  # type: ignore[no-any-return]

        return call

    def _guard_format(self, name: str) -> Callable[..., Value]:
        """Return SQLite's own function `name`, called only if the result of its format is not too long."""
        native = self._guard(name)

        def call(*values: Value) -> Value:
            if not values:
                return native()
            text = as_text(values[0]) if isinstance(values[0], bytes) else values[0]
            problem = self._check_format(text, values[1:]) if isinstance(text, str) else ""
            if problem:
                self.why = f"{name}() {problem}"
                raise ValueError
            return native(text, *values[1:])

        return call

    def _check_format(self, text: str, values: Iterable[Value]) -> str:
        """Return the problem of a format with these values; "" if the result fits the limit of length."""
        left, width = iter(values), 0
        for found in _CONVERSION.finditer(text):
            *sizes, kind = found.groups()
            for size in sizes:
                number = next(left, None) if size == "*" else int((size or "0")[:_MOST_DIGITS])
                if not isinstance(number, int | None):
                    return "needs a whole number for each *"
                width += abs(number or 0)
            if kind in _KINDS:
                next(left, None)
            elif kind != "%":
                return f"does not know {found.group()}; a percent sign is %%"
        return (
            f"would write more than {self._most_characters:,} characters"
            if width > self._most_characters
            else ""
        )
