"""List all settings with the values in force and their origins, and change the user's own file."""

from __future__ import annotations

from engram.adapters.files import config_file, places
from engram.domain import settings
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.domain.settings import Key
    from engram.usecases.store.store import Store

DEFAULT, STORE, OWN = ("default", "store", "user")


class Setting(NamedTuple):
    """A key, the value in force (hidden if it is secret) and its origin: `default`, the `store`'s file, the `user`'s own."""

    key: Key
    value: object
    origin: str


def configuration(store: Store) -> list[Setting]:
    """Return all settings in the order of the documentation. Raises ConfigError."""
    own = config_file.read(places.user_config_file())
    found = []
    for key in settings.KEYS:
        value = store.settings.get(key.name)
        origin = OWN if key.name in own else DEFAULT if value == key.default else STORE
        found.append(Setting(key, key.shown(value), origin))
    return found


def configure_own(store: Store, name: str, text: str | None) -> object:
    """Set a key in the user's own file (None: unset it) like `engram config NAME VALUE --user`; return the value in force.

    `store` has the new value at once; other programs that have the store open keep the old one.
    Raises ConfigError, StoreError.
    """
    key = settings.key_named(name)
    value = None if text is None else settings.parse_value(key, text)
    if key.name == "record.category" and value:
        store.categories.parse(str(value))
    config_file.change(places.user_config_file(), key.name, value)
    from engram.usecases.store.accepted_settings import in_force

    outside = store.places.repository is None
    store.settings = in_force(store.places.root, None if outside else store.places.state).settings
    return key.shown(store.settings.get(key.name))
