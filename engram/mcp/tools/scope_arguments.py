"""Arguments that say where lore belongs or who may read it: each is honoured or refused, never ignored.

Other memories separate users, agents and projects by such arguments. Here only scopes do, each with its own store.
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

# Kinds of arguments
SCOPE = "scope"  # the name of a scope: honoured if the function takes `scope`
PROJECT = "project"  # the name of a project: honoured if it is that of the current store
OWNER = "owner"  # the name of an owner: refused
FILTERS = "filters"  # conditions of a query: refused if they name an owner
PRIVATE = "private"  # visibility: refused if others may not read the entry

_LONGEST = 60
_DEFAULT = ("", "default", "main", "current")  # "main" is the project that basic-memory begins with
_EVERYTHING = ("all", "*")
_OPEN = (None, False, "", "public", "shared", "project", "team", "default")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "org_id", "project_id", "session_id", "workspace")
_METADATA = {"scope": PRIVATE, "visibility": PRIVATE, "private": PRIVATE}


class ScopeArgument(NamedTuple):
    """An argument: its name, its kind and its value."""

    name: str
    kind: str
    value: Any


def collect_unusual(
    given: Mapping[str, Any], kinds: Mapping[str, str], *, reads: bool
) -> list[ScopeArgument]:
    """Return the arguments that do not just name the default; for a tool that `reads`, "all" is a default, too."""
    found = [ScopeArgument(name, kinds[name], value) for name, value in given.items() if name in kinds]
    metadata = given.get("metadata")
    if isinstance(metadata, dict):
        found += [
            ScopeArgument(f"metadata.{name}", kind, metadata[name])
            for name, kind in _METADATA.items()
            if name in metadata
        ]
    return [argument for argument in found if not _is_usual(argument, reads=reads)]


def scope_of(engram: Engram, tool: str, wanted: list[ScopeArgument], *, takes_scope: bool) -> str:
    """Return the scope that the arguments name, "" for the current store. Raises UsageError if one cannot be honoured."""
    scope = ""
    for argument in wanted:
        if argument.kind == SCOPE:
            scope = _check_scope(engram, tool, argument, takes_scope=takes_scope)
        elif argument.kind != PROJECT or slug(str(argument.value)) not in _project_names(engram):
            raise _refusal(engram, tool, argument, takes_scope=takes_scope)
    return scope


def _is_usual(argument: ScopeArgument, *, reads: bool) -> bool:
    if argument.kind == FILTERS:
        return not _names_owner(argument.value)
    if argument.kind == PRIVATE:
        return argument.value in _OPEN
    value = argument.value
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


def _check_scope(engram: Engram, tool: str, argument: ScopeArgument, *, takes_scope: bool) -> str:
    from engram.usecases.opening.scopes import reachable_scopes

    name = str(argument.value).strip()
    with contextlib.suppress(UsageError):  # refused below, with the name of the tool
        name = check_scope(engram.store.settings, name)
    if name == engram.store.places.scope:
        return name if takes_scope else ""
    if not takes_scope or name not in reachable_scopes(engram.store):
        raise _refusal(engram, tool, argument, takes_scope=takes_scope)
    return name


def _project_names(engram: Engram) -> set[str]:
    """Return the names of the current project: those of the folders of its store and its repository."""
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
    """Return the folder that contains a repository's `.git`."""
    folder, name = os.path.split(common_dir.rstrip("/\\"))
    return folder if name == ".git" else common_dir


def _refusal(engram: Engram, tool: str, argument: ScopeArgument, *, takes_scope: bool) -> UsageError:
    """Return the error that says why an argument is refused, and what to use instead."""
    from engram.usecases.opening.scopes import reachable_scopes

    value = str(argument.value)[:_LONGEST]
    why = f"this memory keeps nothing apart by {argument.name}: all who share it read all of it"
    if argument.kind == SCOPE:
        why = f"there is no '{value}' for it here"
    elif argument.kind == PROJECT:
        why = f"this memory is not that of '{value}'"
    here = engram.store.places.scope
    others = ", ".join(name for name in reachable_scopes(engram.store) if name != here)
    name = argument.name if argument.kind == SCOPE else SCOPE
    also = f", or say {name}=NAME for another: {others}" if takes_scope else ""
    return UsageError(f"{tool} did nothing: {why}.", f"Leave {argument.name} out for the scope {here}{also}.")
