"""Data that an import did not make a field of an entry, and where it went instead: nothing is dropped silently."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping

from engram.adapters.files.frontmatter.frontmatter import Bare
from engram.domain.entry.named_files import SKIPPED_FOLDERS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Keys = dict[str, str | tuple[str, ...]]

STAYS = "stays where it is"
AS_PROPERTY = "kept as a property of the entry's file"


class LeftOut(NamedTuple):
    """Data (`what`) in the source at a path, and where it went."""

    path: str
    what: str
    where: str


def is_skipped_folder(name: str) -> bool:
    """Return whether an import skips a folder of this name: a hidden one, or one of packages and the like."""
    return name.startswith(".") or name in SKIPPED_FOLDERS


def find_unread_files(path: str, kinds: tuple[str, ...]) -> Iterator[LeftOut]:
    """Yield the files in a folder without one of the extensions that are read, counted by extension, and skipped folders."""
    counts: dict[str, int] = {}
    if not os.path.isdir(path):
        return
    for folder, folders, names in os.walk(path):
        skipped = [name for name in folders if is_skipped_folder(name)]
        folders[:] = [name for name in folders if name not in skipped]
        for name in skipped:
            if name == ".git":
                continue
            what = "a hidden folder" if name.startswith(".") else "a folder of packages"
            yield LeftOut(os.path.relpath(os.path.join(folder, name), path), what, STAYS)
        for name in names:
            if name.startswith(".") or not name.lower().endswith(kinds):
                extension = os.path.splitext(name)[1] or name
                counts[extension] = counts.get(extension, 0) + 1
    for extension, count in sorted(counts.items()):
        files = "file" if count == 1 else "files"
        yield LeftOut(os.path.basename(os.path.abspath(path)), f"{count:,} {extension} {files}", STAYS)


def to_keys(properties: Mapping[str, object], own: Collection[str]) -> Keys:
    """Return properties of another tool as keys of an entry's file; `own` are the names of Engram's fields."""
    found: Keys = {}
    for name, value in properties.items():
        if value in (None, "", [], {}):
            continue
        key = re.sub(r"\W", "_", name).strip("_")
        key = f"imported_{key}" if not key or key in own or key[0].isdigit() else key
        while key in found:
            key += "_"
        if isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value):
            found[key] = tuple(map(str, value))
        elif isinstance(value, str):
            found[key] = value
        else:
            text = json.dumps(value, ensure_ascii=False)
            found[key] = Bare(text) if isinstance(value, bool | int | float) else text
    return found
