"""Install the git merge driver: a line of .gitattributes, and a command in the repository's configuration.

Without the command git merges the files as text; with it `git pull` merges by field.
"""

from __future__ import annotations

import os

from engram import version
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.own_command import own_command

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

_INSTALLED = ("site-packages", "dist-packages")


def install_merge_driver(
    repository: Repository, folder: str = "lore", root: str = "", *, attributes: bool = True
) -> tuple[str, ...]:
    """Make git merge the lore files under `folder` of the store at `root` (default: the work tree) by field.

    For a store in place (`folder` is "") the clone's own attributes are changed instead of a file of the work tree.
    Without `attributes` only the repository's configuration is changed.

    Return what had to be changed: `attributes` (a file to commit), `command`. Calling it again changes nothing.
    Raises GitError, StoreError.
    """
    from engram.adapters.git.write.create import add_attributes
    from engram.adapters.git.write.merge_driver import configure

    missing = missing_parts(repository, folder, root)
    if not attributes:
        missing = tuple(what for what in missing if what != "attributes")
    if "attributes" in missing:
        add_attributes(*_attributes(repository, folder, root))
    if "command" in missing:
        configure(repository, driver_command())
    return missing


def complete(store: Store, missing: tuple[str, ...]) -> None:
    """Install the driver in a store made by an older version, or cloned by git; commits a changed .gitattributes."""
    from engram.adapters.git.write.create import ATTRIBUTES, read_attributes, with_attributes

    places = store.places
    assert places.repository is not None
    if not places.folder:
        install_merge_driver(places.repository, places.folder, places.root)
        return
    if "attributes" in missing:
        from engram.adapters.files.durable import atomic
        from engram.adapters.files.durable.write import Change, Operation
        from engram.usecases.store.entry_writer import write

        path = os.path.join(places.root, ATTRIBUTES)
        before = read_attributes(path) if os.path.exists(path) else None
        after = with_attributes(before or b"", attribute_lines(places.folder))
        edited = Change(ATTRIBUTES, after, None if before is None else atomic.digest(before))
        trailers = (("Engram-Agent", store.caller.who),)
        moment = int(store.clock.now().timestamp())
        write(store, [Operation(store.clock.new_id(), moment, "Merge lore by field", trailers, (edited,))])
    install_merge_driver(places.repository, places.folder, places.root, attributes=False)


def missing_parts(repository: Repository, folder: str = "lore", root: str = "") -> tuple[str, ...]:
    """Return which of `attributes` and `command` are missing, or are for another interpreter."""
    from engram.adapters.git.write.create import read_attributes, with_attributes
    from engram.adapters.git.write.merge_driver import configured_command

    file, lines = _attributes(repository, folder, root)
    content = read_attributes(file)
    has_attributes = with_attributes(content, lines) == content
    missing = () if has_attributes else ("attributes",)
    return missing if configured_command(repository) == driver_command() else (*missing, "command")


def _attributes(repository: Repository, folder: str, root: str) -> tuple[str, list[str]]:
    """Return the attributes file that has to name the driver, and its lines."""
    from engram.adapters.git.write.create import ATTRIBUTES, own_attributes
    from engram.adapters.git.write.merge_driver import ATTRIBUTE

    top = os.path.realpath(repository.worktree)
    if folder:
        return os.path.join(root or top, ATTRIBUTES), attribute_lines(folder)
    below = os.path.relpath(os.path.realpath(root or top), top).replace(os.sep, "/")
    pattern = "*.md" if below == "." else f"/{below}/**/*.md"
    return own_attributes(repository), [
        f'"{pattern}" {ATTRIBUTE}' if " " in pattern else f"{pattern} {ATTRIBUTE}"
    ]


def attribute_lines(folder: str) -> list[str]:
    """Return the lines of .gitattributes that turn off conversion of lore files and have Engram merge them."""
    from engram.adapters.git.write.merge_driver import ATTRIBUTE

    return [f"{folder}/** -text", f"{folder}/** {ATTRIBUTE}"]


def driver_command() -> str:
    """Return the command line that runs this Engram from any folder."""
    from engram.adapters.git.write.merge_driver import command_line

    package_root = os.path.dirname(os.path.dirname(os.path.abspath(version.__file__)))
    installed = os.path.basename(package_root) in _INSTALLED
    return command_line(own_command(), None if installed else package_root)
