"""Reading and changing the two configuration files: the store's `.engram.toml` and the user's `config.toml`."""

from __future__ import annotations

import json
import os
import stat

from engram.adapters.files import places
from engram.adapters.files.durable import atomic
from engram.domain import settings
from engram.domain.errors import ConfigError, StoreError
from engram.domain.settings import Settings
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

_MAX_BYTES = 64 * 1024
_MAX_FOLDER = 200
_MAX_DOTS = 30  # outside quotes, on one line: tomllib takes ten seconds for a key of 30,000 parts
_PLAIN_DEPTH = 2  # tables in tables
_JSON_STARTS = tuple('"[tf-0123456789')
_NOT_TOML = ("\\", "{", "null", "NaN", "Infinity", "\t")
_QUOTED = r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*"""


def load(root: str | None) -> Settings:
    """Return the settings in force for a store at `root` (None: the user's alone). Raises ConfigError.

    A store's file travels with the repository, so keys that could reach outside the store are
    ignored there: they count only in the user's own file.
    """
    shared = {} if root is None else parse(store_file(root), os.path.join(root, places.CONFIG_NAME))
    return combine(root, shared)


def combine(root: str | None, shared: dict[str, object]) -> Settings:
    """Return the settings in force where the store's file says `shared`. Raises ConfigError."""
    values = {
        name: value for name, value in shared.items() if settings.key_named(name).counts_in_a_store(value)
    }
    found = Settings(values | read(places.user_config_file()))
    if root is not None:
        _refuse_linked_folder(root, found.text("store.folder"))
    return found


def store_file(root: str) -> bytes:
    """Return the bytes of a store's file; nothing where there is none. Raises ConfigError, for a link too."""
    path = os.path.join(root, places.CONFIG_NAME)
    if os.path.islink(path):
        raise ConfigError(
            f"{path} is a symbolic link.",
            "Engram does not follow links in a store; put the file itself there.",
        )
    return _read_file(path)


def _refuse_linked_folder(root: str, folder: str) -> None:
    """A link in the place of the lore folder would have Engram read and write outside the store."""
    at = root
    for part in folder.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at):
            raise ConfigError(
                f"The lore folder {at} is a symbolic link.",
                "Engram does not follow links in a store: put the folder itself there, or set store.folder to another.",
            )


def read(path: str) -> dict[str, object]:
    """Return the checked values of one file by key name; empty where there is no file. Raises ConfigError."""
    return parse(_read_file(path), path)


def parse(raw: bytes, path: str) -> dict[str, object]:
    """Return the checked values of a file's bytes by key name; `path` names it. Raises ConfigError."""
    return settings.replace_aliases(
        {name: _check_value(name, value, path) for name, value in _flat(raw, path).items()}
    )


def parse_kindly(raw: bytes, path: str) -> tuple[dict[str, object], dict[str, ConfigError]]:
    """Return the values that are good, and what is wrong with the others. Raises ConfigError where nothing can be read."""
    values: dict[str, object] = {}
    wrong: dict[str, ConfigError] = {}
    for name, value in _flat(raw, path).items():
        try:
            values[name] = _check_value(name, value, path)
        except ConfigError as error:
            wrong[name] = error
    return settings.replace_aliases(values), wrong


def _read_file(path: str) -> bytes:
    try:
        return _read_start(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", "Check the file's permissions."
        ) from None


def _flat(raw: bytes, path: str) -> dict[str, object]:
    if len(raw) > _MAX_BYTES:
        raise ConfigError(f"{path} is larger than 64 KiB.", "Check that it is a configuration file.")
    try:
        return settings.flatten(_parse(raw, path))
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply.", "`engram config` lists the keys.") from None


def _read_start(path: str) -> bytes:
    """Return the first bytes of a regular file, without waiting for anybody to write into a pipe."""
    # Not O_NOFOLLOW: people link their own configuration from where they keep it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ConfigError(
                f"{path} is not a regular file.", "A configuration file is a few lines of TOML."
            )
        return os.read(handle, _MAX_BYTES + 1)
    finally:
        os.close(handle)


def _check_value(name: str, value: object, path: str) -> object:
    """Return the value, checked for its key and for what no file or path can hold. Raises ConfigError."""
    value = settings.check(name, value, path)
    if name == "store.folder":
        folder = str(value)
        private = {part.lower().rstrip(". ") for part in folder.split("/")} & {".git", ".engram", "git~1"}
        if private or not folder.isprintable() or len(folder) > _MAX_FOLDER:
            raise ConfigError(
                f"{path}: store.folder cannot be {folder[:80]!r}.",
                "Use a folder that holds nothing else, such as `lore`.",
            )
    if name == "store.categories" and isinstance(value, dict):
        for category in value:
            if not category.strip() or not category.isprintable():
                raise ConfigError(
                    f"{path}: store.categories: {category[:80]!r} cannot be a category.",
                    "Name it with letters, digits and `_`.",
                )
    return value


def _parse(raw: bytes, path: str) -> dict[str, object]:
    simple = _parse_simple(raw)
    if simple is not None:
        return simple
    import re
    import tomllib

    try:
        text = raw.decode("utf-8-sig")
        if any(line.count(".") > _MAX_DOTS for line in re.sub(_QUOTED, "", text).split("\n")):
            raise ConfigError(f"{path} is nested too deeply.", "`engram config` lists the keys.")
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib lets int() refuse numbers of 5,000 digits
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", "Correct that line; `engram config` lists the keys."
        ) from None


def _parse_simple(raw: bytes) -> dict[str, object] | None:
    """Read a file of `[table]` and `key = value` lines whose values are the same in JSON and TOML; None: any other.

    Importing tomllib takes 4 to 7 ms of CPU time, which every command would pay where a person has a file of their own.
    """
    text = raw.decode("latin-1").replace("\r\n", "\n")
    if not text.isascii() or not text.replace("\n", "").replace("\t", "").isprintable():
        return None
    table: dict[str, object] = {}
    found = table
    headers: set[str] = set()
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] == "#":
            continue
        name, equals, written = (part.strip() for part in line.partition("="))
        if not equals and line[0] == "[" and line[-1] == "]" and line not in headers:
            headers.add(line)
            inner = _table(table, line[1:-1].split("."))
            if inner is None:
                return None
            found = inner
            continue
        value = _json_value(written)
        if not name.replace("_", "").isalpha() or name in found or value is None:
            return None
        found[name] = value
    return table


def _table(table: dict[str, object], names: list[str]) -> dict[str, object] | None:
    """Return the table of a header; None where it is not certain that TOML allows it."""
    if len(names) > _PLAIN_DEPTH or not all(name.replace("-", "").isalnum() for name in names):
        return None
    for name in names:
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def _json_value(text: str) -> object:
    """Read a text without escapes, a number, true, false or a list of them; None for anything else."""
    if text[:1] not in _JSON_STARTS or any(other in text for other in _NOT_TOML):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def change(path: str, name: str, value: object) -> None:
    """Set one key (None: remove it), keeping everything else in the file as it is. Raises ConfigError, StoreError."""
    change_all(path, {name: value})


def change_all(path: str, values: Mapping[str, object]) -> None:
    """Set several keys at once, as `change` does; a scope's table goes with its last key."""
    read(path)
    if os.path.basename(path) != places.CONFIG_NAME:
        path = os.path.realpath(path)  # a person's own file may be linked from elsewhere, and stays so
    raw = atomic.read(path) if os.path.exists(path) else b""
    content = set_values(raw, values, path)
    secret = any(settings.key_named(name).secret for name in parse(content, path))
    atomic.write(path, content, "config", 0o600 if secret else 0o644)


def set_values(raw: bytes, values: Mapping[str, object], path: str) -> bytes:
    """Return a configuration file's bytes with these keys set (None: removed). Raises ConfigError that names `path`."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(raw.decode("utf-8-sig"))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Correct it by hand first.") from None
    for given, value in values.items():
        name = settings.key_named(given).name
        for old in (old for old, new in settings.ALIASES.items() if new == name):
            _remove(document, old.split(".")[:-1], old.rpartition(".")[2])
        *tables, key = name.split(".")
        if value is None:
            _remove(document, tables, key)
        else:
            _section(document, tables, path)[key] = _check_value(name, value, path)
    try:
        return tomlkit.dumps(document).encode()
    except UnicodeEncodeError:
        message = f"The value for {', '.join(values)} contains half of a character (a lone surrogate)."
        raise ConfigError(message, "Send valid UTF-8 text.") from None


def _section(document: MutableMapping[str, Any], tables: list[str], path: str) -> MutableMapping[str, Any]:
    """Return the table of that name, made where there is none. Raises ConfigError."""
    import tomlkit

    section = document
    for number, name in enumerate(tables, 1):
        if name not in section:
            section[name] = tomlkit.table(is_super_table=number < len(tables))
        section = section[name]
        if not isinstance(section, dict):
            raise ConfigError(f"{path}: {'.'.join(tables)} is not a table.", "Correct it by hand first.")
    return section


def _remove(document: MutableMapping[str, Any], tables: list[str], key: str) -> None:
    """Take a key away; an empty table of a scope would be a scope of which nothing is known, so it goes too."""
    around: list[MutableMapping[str, Any]] = [document]
    for name in tables:
        inner = around[-1].get(name)
        if not isinstance(inner, dict):
            return
        around.append(inner)
    around[-1].pop(key, None)
    if len(tables) > 1 and not around[-1]:
        around[-2].pop(tables[-1])


def create(path: str, lines: str) -> None:
    """Write a new configuration file. Raises StoreError where one exists."""
    if os.path.exists(path):
        raise StoreError(f"{path} exists already.", "This folder is a store; nothing was changed.")
    atomic.write(path, lines.encode(), "config")
