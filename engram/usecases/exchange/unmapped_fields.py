"""What an import did not make a field of an entry, and where it went instead: nothing is dropped without a word."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping

from engram.adapters.files.frontmatter.frontmatter import Bare
from engram.domain.entry.named_files import PASSED_OVER
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    Keys = dict[str, str | tuple[str, ...]]

STAYS = "stays where it is"
AS_PROPERTY = "kept as a property of the entry's file"


class LeftOut(NamedTuple):
    """Something in the source at a path, and where it went."""

    path: str
    what: str
    where: str


def is_passed_over(name: str) -> bool:
    """Return whether an import leaves out a folder of this name: a hidden one, or one whose files nobody here wrote."""
    return name.startswith(".") or name in PASSED_OVER


def find_unread_files(path: str, kinds: tuple[str, ...]) -> Iterator[LeftOut]:
    """Yield the files in a folder that are none of the kinds that are read, by their endings."""
    counts: dict[str, int] = {}
    if not os.path.isdir(path):
        return
    for folder, folders, names in os.walk(path):
        others = [name for name in folders if is_passed_over(name) and name != ".git"]
        folders[:] = [name for name in folders if not is_passed_over(name)]
        for name in others:
            what = "a hidden folder" if name.startswith(".") else "a folder of packages"
            yield LeftOut(os.path.relpath(os.path.join(folder, name), path), what, STAYS)
        for name in names:
            if name.startswith(".") or not name.lower().endswith(kinds):
                ending = os.path.splitext(name)[1] or name
                counts[ending] = counts.get(ending, 0) + 1
    for ending, count in sorted(counts.items()):
        files = "file" if count == 1 else "files"
        yield LeftOut(os.path.basename(os.path.abspath(path)), f"{count:,} {ending} {files}", STAYS)


def as_keys(properties: Mapping[str, object], own: Collection[str]) -> Keys:
    """Return properties of another tool as keys of an entry's file; `own` are names that Engram has fields of."""
    found: Keys = {}
    for name, value in properties.items():
        if value in (None, "", [], {}):
            continue
        key = re.sub(r"\W", "_", name).strip("_")
        key = f"imported_{key}" if not key or key in own or key[0].isdigit() else key
        while key in found:
            key += "_"
        if isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value):
            found[key] = tuple(map(str, value))
        elif isinstance(value, str):
            found[key] = value
        else:
            text = json.dumps(value, ensure_ascii=False)
            found[key] = Bare(text) if isinstance(value, bool | int | float) else text
    return found
