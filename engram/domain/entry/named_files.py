"""Files below the lore folder that are not entries but are identified by name: those of entities and agents."""

from __future__ import annotations

ENTITIES = "entities"  # folders directly below the lore folder
AGENTS = "agents"
FOLDERS = (ENTITIES, AGENTS)
WHOLE = "."  # as `store.folder`: every markdown file of the store is an entry
HOME = "lore"
SKIPPED_FOLDERS = frozenset({"node_modules"})  # third-party folders in a whole store

# Device names on Windows, whatever the extension.
DEVICES = frozenset(
    (
        "con",
        "prn",
        "aux",
        "nul",
        "conin$",
        "conout$",
        *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"),
    )
)


def lore_folder(setting: object) -> str:
    """Return the lore folder for a value of `store.folder`, relative to the store; "" if it is the whole store."""
    return "" if setting == WHOLE else str(setting)


def home_of(folder: str) -> str:
    """Return the folder for Engram's own files: the lore folder, or in a whole store the folder `lore`."""
    return folder or HOME


def file_name(path: str) -> str:
    """Return the name of a file, without its folders and the extension `.md`."""
    return path.rpartition("/")[2].removesuffix(".md")


def below(folder: str) -> str:
    """Return the prefix of paths below a folder."""
    return f"{folder}/" if folder else ""


def may_hold_lore(folder: str, lore: str) -> bool:
    """Whether files in a folder can be entries; `lore` is the lore folder."""
    top, _, name = folder.rpartition("/")
    if name.startswith(".") or (not lore and name in SKIPPED_FOLDERS):
        return False
    return not (top == home_of(lore) and name in FOLDERS)


def is_entity(path: str, folder: str) -> bool:
    """Whether a path is that of an entity's file in the lore folder `folder`."""
    return _is_in(path, f"{home_of(folder)}/{ENTITIES}")


def is_agent(path: str, folder: str) -> bool:
    """Whether a path is that of an agent's file in the lore folder `folder`."""
    return _is_in(path, f"{home_of(folder)}/{AGENTS}")


def is_named(path: str, folder: str) -> bool:
    """Whether a path is that of an entity's or agent's file, which is merged by field but is not an entry."""
    return is_entity(path, folder) or is_agent(path, folder)


def _is_in(path: str, folder: str) -> bool:
    top, _, name = path.rpartition("/")
    return top == folder and name.endswith(".md") and not name.startswith(".")
