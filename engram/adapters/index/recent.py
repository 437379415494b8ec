"""What the catalog said of rows lately, kept for a program that asks again and again: questions come back to the same lore."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Catalog, Hit

_MOST = 2048  # rows; about 4 MB


class RecentRows:
    """The lines and tokens of rows, as `Catalog` gives them.

    What this process writes is noticed here; what others write is for the owner to `forget`.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Nothing is kept yet."""
        self._catalog = catalog
        self._hits: dict[int, Hit | None] = {}
        self._tokens: dict[int, bytes] = {}
        self._changes = 0

    def forget(self) -> None:
        """Keep nothing of what was read so far."""
        self._hits.clear()
        self._tokens.clear()

    def hits(self, rows: Sequence[int]) -> list[Hit]:
        """The lines of these rows that are lore and not shadowed, in no order."""
        known = self._hits
        missing = self._missing(known, rows)
        if missing:
            known.update(dict.fromkeys(missing))
            known.update({hit.row: hit for hit in self._catalog.hits(missing)})
        return [hit for row in rows if (hit := known[row]) is not None]

    def tokens(self, rows: Sequence[int]) -> list[bytes]:
        """The tokens of each of these rows, empty where there are none."""
        known = self._tokens
        missing = self._missing(known, rows)
        if missing:
            known.update(dict.fromkeys(missing, b""))
            known.update(self._catalog.tokens(missing))
        return [known[row] for row in rows]

    def _missing(self, known: dict[int, Hit | None] | dict[int, bytes], rows: Sequence[int]) -> list[int]:
        """The rows that have to be read."""
        connection = self._catalog.connection
        # What is read amid a change may be taken back.
        if connection.in_transaction or connection.total_changes != self._changes or len(known) > _MOST:
            self.forget()
            self._changes = -1 if connection.in_transaction else connection.total_changes
        return [row for row in rows if row not in known]
