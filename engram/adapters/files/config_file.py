"""Read and change the two configuration files: the store's `.engram.toml` and the user's `config.toml`."""

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
_MAX_DOTS = 30  # on a line, outside quotes: tomllib takes ten seconds for a key of 30,000 parts
_MAX_SIMPLE_DEPTH = 2  # of nested tables
_JSON_PREFIXES = tuple('"[tf-0123456789')
_JSON_ONLY = ("\\", "{", "null", "NaN", "Infinity", "\t")
_QUOTED = r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*"""


def load(root: str | None) -> Settings:
    """Return the settings in force for a store at `root` (None: the user's alone). Raises ConfigError.

    A store's file comes with the repository, so keys that could reach outside the store are ignored there and count
    only in the user's own file.
    """
    shared = {} if root is None else parse(store_file(root), os.path.join(root, places.CONFIG_NAME))
    return combine(root, shared)


def combine(root: str | None, shared: dict[str, object]) -> Settings:
    """Return the settings in force if the store's file has the values `shared`. Raises ConfigError."""
    values = {
        name: value for name, value in shared.items() if settings.key_named(name).counts_in_a_store(value)
    }
    found = Settings(values | read(places.user_config_file()))
    if root is not None:
        _refuse_linked_folder(root, found.text("store.folder"))
    return found


def store_file(root: str) -> bytes:
    """Return the bytes of a store's file; b"" if there is none. Raises ConfigError, also for a link."""
    path = os.path.join(root, places.CONFIG_NAME)
    if os.path.islink(path):
        raise ConfigError(
            f"{path} is a symbolic link.",
            "Engram does not follow links in a store; put the file itself there.",
        )
    return _read_file(path)


def _refuse_linked_folder(root: str, folder: str) -> None:
    """Raise ConfigError if the lore folder is a link: Engram would read and write outside the store."""
    at = root
    for part in folder.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at):
            raise ConfigError(
                f"The lore folder {at} is a symbolic link.",
                "Engram does not follow links in a store: put the folder itself there, or set store.folder to another.",
            )


def read(path: str) -> dict[str, object]:
    """Return the checked values of a file by key name; {} if there is no file. Raises ConfigError."""
    return parse(_read_file(path), path)


def parse(raw: bytes, path: str) -> dict[str, object]:
    """Return the checked values of a file's bytes by key name; `path` names it. Raises ConfigError."""
    return settings.replace_aliases(
        {name: _check_value(name, value, path) for name, value in _flatten(raw, path).items()}
    )


def parse_leniently(raw: bytes, path: str) -> tuple[dict[str, object], dict[str, ConfigError]]:
    """Return the valid values, and the errors of the others. Raises ConfigError if the file cannot be parsed."""
    values: dict[str, object] = {}
    errors: dict[str, ConfigError] = {}
    for name, value in _flatten(raw, path).items():
        try:
            values[name] = _check_value(name, value, path)
        except ConfigError as error:
            errors[name] = error
    return settings.replace_aliases(values), errors


def _read_file(path: str) -> bytes:
    try:
        return _read_start(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", "Check the file's permissions."
        ) from None


def _flatten(raw: bytes, path: str) -> dict[str, object]:
    if len(raw) > _MAX_BYTES:
        raise ConfigError(f"{path} is larger than 64 KiB.", "Check that it is a configuration file.")
    try:
        return settings.flatten(_parse(raw, path))
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply.", "`engram config` lists the keys.") from None


def _read_start(path: str) -> bytes:
    """Return the first bytes of a regular file, without blocking on a pipe."""
    # Not O_NOFOLLOW: people link their own configuration from elsewhere.
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
    """Return the value, checked by the rules of its key and of paths. Raises ConfigError."""
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
    except (ValueError, RecursionError) as error:  # ValueError also from int(), for numbers of 5,000 digits
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", "Correct that line; `engram config` lists the keys."
        ) from None


def _parse_simple(raw: bytes) -> dict[str, object] | None:
    """Parse a file of `[table]` and `key = value` lines with values that are the same in JSON and TOML; None for any other.

    Importing tomllib costs 4 to 7 ms of CPU time, which every command would pay for users with a configuration file.
    """
    text = raw.decode("latin-1").replace("\r\n", "\n")
    if not text.isascii() or not text.replace("\n", "").replace("\t", "").isprintable():
        return None
    document: dict[str, object] = {}
    table = document
    headers: set[str] = set()
    for line in map(str.strip, text.split("\n")):
        if not line or line[0] == "#":
            continue
        name, equals, text_value = (part.strip() for part in line.partition("="))
        if not equals and line[0] == "[" and line[-1] == "]" and line not in headers:
            headers.add(line)
            inner = _find_table(document, line[1:-1].split("."))
            if inner is None:
                return None
            table = inner
            continue
        value = _parse_value(text_value)
        if not name.replace("_", "").isalpha() or name in table or value is None:
            return None
        table[name] = value
    return document


def _find_table(table: dict[str, object], names: list[str]) -> dict[str, object] | None:
    """Return the table of a header, made if missing; None if TOML may not allow it."""
    if len(names) > _MAX_SIMPLE_DEPTH or not all(name.replace("-", "").isalnum() for name in names):
        return None
    for name in names:
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def _parse_value(text: str) -> object:
    """Parse a text without escapes, a number, true, false or a list of them; None for anything else."""
    if text[:1] not in _JSON_PREFIXES or any(token in text for token in _JSON_ONLY):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def change(path: str, name: str, value: object) -> None:
    """Set one key (None: remove it) and leave the rest of the file unchanged. Raises ConfigError, StoreError."""
    change_all(path, {name: value})


def change_all(path: str, values: Mapping[str, object]) -> None:
    """Set several keys at once, as `change` does; a scope's table is removed with its last key."""
    read(path)
    if os.path.basename(path) != places.CONFIG_NAME:
        path = os.path.realpath(path)  # keep a link to a person's own file
    raw = atomic.read(path) if os.path.exists(path) else b""
    content = set_values(raw, values, path)
    secret = any(settings.key_named(name).secret for name in parse(content, path))
    atomic.write(path, content, "config", 0o600 if secret else 0o644)


def set_values(raw: bytes, values: Mapping[str, object], path: str) -> bytes:
    """Return a configuration file's bytes with these keys set (None: removed). Raises ConfigError, which names `path`."""
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
            _ensure_table(document, tables, path)[key] = _check_value(name, value, path)
    try:
        return tomlkit.dumps(document).encode()
    except UnicodeEncodeError:
        message = f"The value for {', '.join(values)} contains half of a character (a lone surrogate)."
        raise ConfigError(message, "Send valid UTF-8 text.") from None


def _ensure_table(
    document: MutableMapping[str, Any], tables: list[str], path: str
) -> MutableMapping[str, Any]:
    """Return the table with these names, made if missing. Raises ConfigError."""
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
    """Remove a key, and a scope's table that is then empty: it would declare an unknown scope."""
    chain: list[MutableMapping[str, Any]] = [document]
    for name in tables:
        inner = chain[-1].get(name)
        if not isinstance(inner, dict):
            return
        chain.append(inner)
    chain[-1].pop(key, None)
    if len(tables) > 1 and not chain[-1]:
        chain[-2].pop(tables[-1])


def create(path: str, lines: str) -> None:
    """Write a new configuration file. Raises StoreError if one exists."""
    if os.path.exists(path):
        raise StoreError(f"{path} exists already.", "This folder is a store; nothing was changed.")
    atomic.write(path, lines.encode(), "config")
