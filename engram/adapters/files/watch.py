"""Notifications from the system about changed files in the lore folder, instead of checking each (Linux: inotify).

The kernel queues an event before the call that changed the file returns, so whoever asks afterwards knows.
Not reported: writes through shared memory, and what another machine does on a network file system.
"""

from __future__ import annotations

import os

from engram.domain.entry.named_files import below
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inotify_simple import Event, INotify

_EXTENSION = ".md"


class WatchLostError(Exception):
    """Events were lost or folders moved: what was reported so far is not all."""


class FolderWatch:
    """Changes in a set of folders since they were followed. Not for several threads at once.

    `files` are to be looked at, `folders` to be read anew. Of `touched` folders only the time moved: all that was made
    or removed there is among `files`, or hidden.
    """

    def __init__(self, root: str) -> None:
        """Folders are relative to `root`. Raises OSError or ImportError where the system cannot tell."""
        from inotify_simple import INotify, flags

        # As plain numbers: the library's enums cost more than the events.
        self._made = int(flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO)
        self._moved = int(flags.MOVED_FROM | flags.MOVED_TO)
        self._lost = int(flags.Q_OVERFLOW | flags.UNMOUNT | flags.MOVE_SELF)
        self._ignored, self._folder = int(flags.IGNORED), int(flags.ISDIR)
        written = flags.MODIFY | flags.ATTRIB | flags.DELETE_SELF | flags.MOVE_SELF
        self._mask = int(self._made | written | flags.ONLYDIR | flags.DONT_FOLLOW)
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self.touched: set[str] = set()
        self._root = root
        self._process = os.getpid()
        self._numbers: dict[int, str] = {}
        self._followed: set[str] = set()
        self._notify: INotify = INotify()

    def follow(self, folder: str) -> None:
        """Watch `folder` from now on; one that is not there (any more) is skipped.

        Raises OSError where the system has no room for one more.
        """
        if folder in self._followed:
            return
        try:
            number = self._notify.add_watch(f"{self._root}/{folder}", self._mask)
        except (FileNotFoundError, NotADirectoryError):
            return
        self._numbers[number] = folder
        self._followed.add(folder)

    def follows(self, folders: Iterable[str]) -> bool:
        """Return whether all of `folders` are followed."""
        return self._followed.issuperset(folders)

    def listen(self) -> bool:
        """Take in what happened; whether `files` or `folders` name anything. Raises WatchLostError."""
        if os.getpid() != self._process:
            raise WatchLostError  # a forked child would take events away from its parent
        try:
            events = self._notify.read(timeout=0)
        except (OSError, ValueError) as error:
            raise WatchLostError from error
        for event in events:
            self._take(event)
        return bool(self.files or self.folders)

    def settle(self, files: set[str], folders: set[str], touched: set[str]) -> None:
        """Forget changes that were dealt with; the sets are as they were read from here."""
        self.files -= files
        self.folders -= folders
        self.touched -= touched

    def close(self) -> None:
        """Give everything back to the system."""
        self._notify.close()

    def _take(self, event: Event) -> None:
        mask, name = event.mask, event.name
        folder = self._numbers.get(event.wd)
        if mask & self._lost or (mask & self._folder and mask & self._moved):
            raise WatchLostError
        if folder is None:
            return
        if mask & self._ignored:
            del self._numbers[event.wd]
            self._followed.discard(folder)
        elif not name or mask & self._folder:
            self.folders |= {folder, below(folder) + name} if name else {folder}
        else:
            self._take_file(folder, name, made=bool(mask & self._made))

    def _take_file(self, folder: str, name: str, *, made: bool) -> None:
        hidden = name.startswith(".")
        if name.endswith(_EXTENSION) and not hidden:
            self.files.add(below(folder) + name)
        elif made and not hidden:  # it may be a link to a folder
            self.folders.add(folder)
        if made:
            self.touched.add(folder)
