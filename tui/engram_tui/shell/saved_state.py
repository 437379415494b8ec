"""The state that the app restores from its last run: screen, filters, order, theme. Private to this clone, never in git."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError

if TYPE_CHECKING:
    from engram.app import Engram

_FILE_NAME = "app.json"
_MAX_BYTES = 16_384


class SavedState:
    """Strings by name; a file that cannot be read or written is ignored."""

    def __init__(self, store: Engram) -> None:
        self._path = os.path.join(store.store.places.state, _FILE_NAME)
        self._values = self._read()
        self._saved = dict(self._values)

    def get(self, name: str, default: str = "") -> str:
        """Return the value under this name."""
        return self._values.get(name, default)

    def set(self, name: str, value: str) -> None:
        """Set a value; `save` writes it."""
        self._values[name] = value

    def save(self) -> None:
        """Write the file if anything changed."""
        if self._values != self._saved:
            with contextlib.suppress(OSError, EngramError):
                atomic.write(self._path, json.dumps(self._values, indent=1).encode(), "app")
                self._saved = dict(self._values)

    def _read(self) -> dict[str, str]:
        try:
            with open(self._path, "rb") as file:
                found = json.loads(file.read(_MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}
