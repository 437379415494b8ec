"""Reading and changing the two configuration files: the store's `.engram.toml` and the user's `config.toml`."""

from __future__ import annotations

import os

from engram.adapters.files import atomic, places
from engram.domain import settings
from engram.domain.errors import ConfigError, StoreError
from engram.domain.settings import Settings

_MAX_BYTES = 64 * 1024


def load(root: str | None) -> Settings:
    """The settings in force for a store at `root` (None: the user's alone). Raises ConfigError.

    A store's file travels with the repository, so keys that could reach outside the store are
    ignored there: they count only in the user's own file.
    """
    values: dict[str, object] = {}
    if root is not None:
        shared = read(os.path.join(root, places.CONFIG_NAME))
        values |= {name: value for name, value in shared.items() if not settings.key_named(name).user_only}
    values |= read(places.user_config_file())
    return Settings(values)


def read(path: str) -> dict[str, object]:
    """The checked values of one file by key name; empty where there is no file. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", "Check the file's permissions."
        ) from None
    if len(raw) > _MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than 64 KiB.", "A configuration file is a few lines; is this one?"
        )
    return {
        name: settings.check(name, value, path) for name, value in settings.flatten(_parse(raw, path)).items()
    }


def _parse(raw: bytes, path: str) -> dict[str, object]:
    plain = _parse_plain(raw)
    if plain is not None:
        return plain
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}.", "Mend that line; `engram config` lists the keys."
        ) from None


def _parse_plain(raw: bytes) -> dict[str, object] | None:
    """The file as `engram init` writes it: `[table]` and `key = "plain text"` lines. None for anything more.

    tomllib costs 9 ms of start-up, a seventh of what a query by words may take.
    """
    table: dict[str, object] = {}
    found = table
    try:
        lines = raw.decode("ascii").splitlines()
    except UnicodeDecodeError:
        return None
    for line in map(str.strip, lines):
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if (
            not equals
            and line[0] == "["
            and line[-1] == "]"
            and line[1:-1].isalpha()
            and line[1:-1] not in table
        ):
            found = {}
            table[line[1:-1]] = found
        elif name.replace("_", "").isalpha() and name not in found and _is_plain_text(value):
            found[name] = value[1:-1]
        else:
            return None
    return table


def _is_plain_text(value: str) -> bool:
    inner = value[1:-1]
    return (
        len(value) >= 2
        and value[0] == value[-1] == '"'
        and not any(c in inner for c in '"\\')
        and inner.isprintable()
    )


def change(path: str, name: str, value: object) -> None:
    """Set one key (None: remove it), keeping everything else in the file as it is. Raises ConfigError, StoreError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    read(path)
    try:
        text = atomic.read(path).decode() if os.path.exists(path) else ""
        document = tomlkit.parse(text)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Mend it by hand first.") from None
    table, key = name.split(".", 1)
    if table not in document:
        document[table] = tomlkit.table()
    section = document[table]
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: {table} is not a table.", "Mend it by hand first.")
    if value is None:
        section.pop(key, None)
    else:
        section[key] = settings.check(name, value, path)
    atomic.write(path, tomlkit.dumps(document).encode(), "config")


def create(path: str, lines: str) -> None:
    """Write a new configuration file. Raises StoreError where one exists."""
    if os.path.exists(path):
        raise StoreError(f"{path} exists already.", "This folder is a store; nothing was changed.")
    atomic.write(path, lines.encode(), "config")
