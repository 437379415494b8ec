"""Arguments that say where lore belongs or who may read it: each is honoured or refused, and never passed over.

Other memories keep users, agents and projects apart by such arguments. Here only scopes do: each is a store of its own.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.entry.lore import slug
from engram.domain.errors import UsageError
from engram.domain.scopes import PROJECT as PROJECT_SCOPE
from engram.domain.scopes import check_scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.app import Engram

SCOPE = "scope"  # the name of a scope: honoured by a function that takes `scope`
PROJECT = "project"  # the name of a project: only that of the store at hand is honoured
OWNER = "owner"  # whose it is: refused
FILTERS = "filters"  # conditions of a query, which may name whose it is
PRIVATE = "private"  # whether others may not read it: refused where they may not

_LONGEST = 60
_DEFAULT = ("", "default", "main", "current")  # "main" is the project that basic-memory begins with
_EVERYTHING = ("all", "*")
_OPEN = (None, False, "", "public", "shared", "project", "team", "default")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "org_id", "project_id", "session_id", "workspace")
_METADATA = {"scope": PRIVATE, "visibility": PRIVATE, "private": PRIVATE}


class Asked(NamedTuple):
    """One argument: its name, its kind and its value."""

    name: str
    kind: str
    value: Any


def unusual_arguments(given: Mapping[str, Any], kinds: Mapping[str, str], *, reads: bool) -> list[Asked]:
    """The arguments that ask for anything but the usual: for a tool that `reads` that is to see all."""
    found = [Asked(name, kinds[name], value) for name, value in given.items() if name in kinds]
    metadata = given.get("metadata")
    if isinstance(metadata, dict):
        found += [
            Asked(f"metadata.{name}", kind, metadata[name])
            for name, kind in _METADATA.items()
            if name in metadata
        ]
    return [one for one in found if not _is_usual(one, reads=reads)]


def scope_of(engram: Engram, tool: str, wanted: list[Asked], *, takes_scope: bool) -> str:
    """The scope that these arguments name; "" where that is the store at hand. Raises UsageError for what cannot be honoured."""
    scope = ""
    for one in wanted:
        if one.kind == SCOPE:
            scope = _check_scope(engram, tool, one, takes_scope=takes_scope)
        elif one.kind != PROJECT or slug(str(one.value)) not in _project_names(engram):
            raise _refusal(engram, tool, one, takes_scope=takes_scope)
    return scope


def _is_usual(one: Asked, *, reads: bool) -> bool:
    if one.kind == FILTERS:
        return not _names_owner(one.value)
    if one.kind == PRIVATE:
        return one.value in _OPEN
    value = one.value
    if value is None or value in ([], {}):
        return True
    return isinstance(value, str) and value.strip().lower() in (*_DEFAULT, *(_EVERYTHING if reads else ()))


def _names_owner(filters: object) -> bool:
    if isinstance(filters, dict):
        return any(
            (name in _OWNERS and value not in (None, "", "*")) or _names_owner(value)
            for name, value in filters.items()
        )
    return isinstance(filters, list) and any(map(_names_owner, filters))


def _check_scope(engram: Engram, tool: str, one: Asked, *, takes_scope: bool) -> str:
    from engram.usecases.opening.scopes import reachable_scopes

    name = str(one.value).strip()
    with contextlib.suppress(UsageError):  # what is none is refused below, with the words of this tool
        name = check_scope(engram.store.settings, name)
    if name == engram.store.places.scope:
        return name if takes_scope else ""
    if not takes_scope or name not in reachable_scopes(engram.store):
        raise _refusal(engram, tool, one, takes_scope=takes_scope)
    return name


def _project_names(engram: Engram) -> set[str]:
    """What the project of the store at hand may be called: by the folder of the store, or of the repository it is in."""
    here = engram.store.places
    if here.scope != PROJECT_SCOPE:
        return set()
    repository = here.repository
    folders = (
        [here.root]
        if repository is None
        else [here.root, repository.worktree, _main_folder(repository.common_dir)]
    )
    return {slug(os.path.basename(folder.rstrip("/\\"))) for folder in folders}


def _main_folder(common_dir: str) -> str:
    """The folder that a repository's `.git` is in."""
    folder, name = os.path.split(common_dir.rstrip("/\\"))
    return folder if name == ".git" else common_dir


def _refusal(engram: Engram, tool: str, one: Asked, *, takes_scope: bool) -> UsageError:
    """What is wrong with an argument, and what to say instead."""
    from engram.usecases.opening.scopes import reachable_scopes

    value = str(one.value)[:_LONGEST]
    why = f"this memory keeps nothing apart by {one.name}: all who share it read all of it"
    if one.kind == SCOPE:
        why = f"there is no '{value}' for it here"
    elif one.kind == PROJECT:
        why = f"this memory is not that of '{value}'"
    here = engram.store.places.scope
    others = ", ".join(name for name in reachable_scopes(engram.store) if name != here)
    name = one.name if one.kind == SCOPE else SCOPE
    also = f", or say {name}=NAME for another: {others}" if takes_scope else ""
    return UsageError(f"{tool} did nothing: {why}.", f"Leave {one.name} out for the scope {here}{also}.")
