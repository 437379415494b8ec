"""The index as the rest of Engram sees it: the current generation, kept in step with other processes.

`CURRENT` names the generation in use. Readers keep the one they opened until they look again; a rebuild fills a new
folder and then swaps `CURRENT`.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError, damage_noticed
from engram.adapters.index.generation import Generation

_CURRENT = "CURRENT"
_GENERATION = "generation-"


class Index:
    """The index in one state folder, of one embedding model (`model` "" and 0 dimensions: words only)."""

    def __init__(self, folder: str, model: str, dimensions: int) -> None:
        """`folder` is absolute; nothing is opened or created yet."""
        self.folder = folder
        self.model = model
        self.dimensions = dimensions
        self.why_rebuilt = ""
        self._generation: Generation | None = None
        self._condemned = ""

    @property
    def generation(self) -> Generation | None:
        """The generation in use, if there is a good one."""
        return self._generation

    def look(self) -> Generation | None:
        """Follow changes of other processes; return the current generation or None.

        None means that there is no usable index; `why_rebuilt` has the reason.
        """
        name = self._current_name()
        if self._generation is not None and os.path.basename(self._generation.folder) != name:
            self.drop()
        if not name or name == self._condemned:
            self.why_rebuilt = self.why_rebuilt or "there was none"
            return None
        try:
            if self._generation is None:
                self._generation = Generation(os.path.join(self.folder, name), self.model, self.dimensions)
            else:
                with damage_noticed():
                    if self._generation.catalog.version() != self._generation.version:
                        self._generation.reload()
        except DamagedIndexError as error:
            self._condemn(name, str(error))
        except IndexUnavailableError as error:
            self.why_rebuilt = error.message
            self.drop()
        return self._generation

    def damaged(self, why: str) -> None:
        """Stop using the current generation because it is broken; the next refresh rebuilds it."""
        if self._generation is not None:
            self._condemn(os.path.basename(self._generation.folder), why)

    def _condemn(self, name: str, why: str) -> None:
        """Never open a generation again, and keep other processes from it unless there is a newer one by now."""
        self.why_rebuilt = why
        self._condemned = name
        self.drop()
        if self._current_name() == name:
            with contextlib.suppress(OSError):  # if nothing can be written, at least this process knows
                os.unlink(os.path.join(self.folder, _CURRENT))

    def drop(self) -> None:
        """Close the current generation."""
        if self._generation is not None:
            self._generation.close()
            self._generation = None

    def create(self, token: str) -> Generation:
        """Create an empty generation that nobody uses yet."""
        self.make_folder()
        return Generation(
            os.path.join(self.folder, _GENERATION + token), self.model, self.dimensions, create=True
        )

    def make_folder(self) -> None:
        """Create the index folder, moving anything in its place aside. Raises IndexUnavailableError."""
        try:
            try:
                os.makedirs(self.folder, exist_ok=True)
            except FileExistsError:
                os.replace(self.folder, f"{self.folder}.damaged")
                os.makedirs(self.folder)
        except OSError as error:
            raise IndexUnavailableError(f"The index folder cannot be made: {error.strerror}.") from None

    def switch(self, generation: Generation) -> None:
        """Make a filled generation the current one and remove the others."""
        name = os.path.basename(generation.folder)
        before = self._current_name()
        temporary = os.path.join(self.folder, f".{_CURRENT}.{name}")
        with damage_noticed():
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(name)
            current = os.path.join(self.folder, _CURRENT)
            if os.path.isdir(current):
                os.rename(current, os.path.join(self.folder, f"{_GENERATION}{name}.damaged"))  # for the sweep
            os.replace(temporary, current)
        if self._generation is not generation:
            self.drop()
            self._generation = generation
        self._sweep({name, before})

    def discard(self, generation: Generation) -> None:
        """Remove a generation that could not be filled."""
        import shutil

        generation.close()
        shutil.rmtree(generation.folder, ignore_errors=True)

    def _current_name(self) -> str:
        try:
            handle = os.open(os.path.join(self.folder, _CURRENT), os.O_RDONLY)  # every query asks
            try:
                name = os.read(handle, 4096).decode().strip()
            finally:
                os.close(handle)
        except (OSError, UnicodeDecodeError):
            return ""
        return name if name.startswith(_GENERATION) and os.path.basename(name) == name else ""

    def _sweep(self, keep: set[str]) -> None:
        """Remove old generations; called under the index lock, so none is being filled."""
        import shutil

        for name in os.listdir(self.folder):
            if name.startswith(_GENERATION) and name not in keep:
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def close(self) -> None:
        """Close everything."""
        self.drop()
