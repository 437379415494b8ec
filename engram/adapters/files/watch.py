"""Watch folders for changed files with inotify (on Linux), instead of checking each file.

The kernel queues an event before the call that changed the file returns, so a later `listen` sees every change.
Not reported: writes through shared memory, and changes by another machine on a network file system.
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
    """Events were lost or folders moved, so the reported changes are incomplete."""


class FolderWatch:
    """Changes in a set of folders since they were followed. Not thread-safe.

    `files` changed, and `folders` have to be read again. In `touched` folders only the mtime changed: what was made
    or removed there is among `files`, or hidden.
    """

    def __init__(self, root: str) -> None:
        """Folders are relative to `root`. Raises OSError or ImportError if inotify is not available."""
        from inotify_simple import INotify, flags

        # Plain numbers: the library's enums cost more than the events.
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
        self._folder_by_watch: dict[int, str] = {}
        self._followed: set[str] = set()
        self._notify: INotify = INotify()

    def follow(self, folder: str) -> None:
        """Watch `folder` from now on; a folder that does not exist is skipped.

        Raises OSError if the system's limit is reached.
        """
        if folder in self._followed:
            return
        try:
            number = self._notify.add_watch(f"{self._root}/{folder}", self._mask)
        except (FileNotFoundError, NotADirectoryError):
            return
        self._folder_by_watch[number] = folder
        self._followed.add(folder)

    def follows(self, folders: Iterable[str]) -> bool:
        """Return whether all of `folders` are followed."""
        return self._followed.issuperset(folders)

    def listen(self) -> bool:
        """Read the queued events; return whether `files` or `folders` has any. Raises WatchLostError."""
        if os.getpid() != self._process:
            raise WatchLostError  # a forked child would take its parent's events
        try:
            events = self._notify.read(timeout=0)
        except (OSError, ValueError) as error:
            raise WatchLostError from error
        for event in events:
            self._handle(event)
        return bool(self.files or self.folders)

    def settle(self, files: set[str], folders: set[str], touched: set[str]) -> None:
        """Forget changes that were dealt with, given as sets read from here before."""
        self.files -= files
        self.folders -= folders
        self.touched -= touched

    def close(self) -> None:
        """Close the inotify instance."""
        self._notify.close()

    def _handle(self, event: Event) -> None:
        mask, name = event.mask, event.name
        folder = self._folder_by_watch.get(event.wd)
        if mask & self._lost or (mask & self._folder and mask & self._moved):
            raise WatchLostError
        if folder is None:
            return
        if mask & self._ignored:
            del self._folder_by_watch[event.wd]
            self._followed.discard(folder)
        elif not name or mask & self._folder:
            self.folders |= {folder, below(folder) + name} if name else {folder}
        else:
            self._handle_file(folder, name, made=bool(mask & self._made))

    def _handle_file(self, folder: str, name: str, *, made: bool) -> None:
        hidden = name.startswith(".")
        if name.endswith(_EXTENSION) and not hidden:
            self.files.add(below(folder) + name)
        elif made and not hidden:  # it may be a link to a folder
            self.folders.add(folder)
        if made:
            self.touched.add(folder)
