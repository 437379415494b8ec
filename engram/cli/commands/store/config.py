"""`engram config`: show and change settings."""

from __future__ import annotations

import json
import os

from engram.adapters.files import config_file, places
from engram.cli.invocation import Call
from engram.cli.parsing import argument, switch
from engram.domain import settings
from engram.domain.errors import UsageError
from engram.domain.text.safe_text import safe_text
from engram.usecases.store import accepted_settings
from engram.usecases.store.configuration import DEFAULT, configuration

DESCRIPTION = (
    "Show the settings in force and what they mean; change one in the store's file or in your own (--user)."
)
EXAMPLES = (
    "engram config",
    "engram config recall.limit",
    "engram config recall.limit 8 --user",
    "engram config recall.limit --unset",
    "engram config --accept",
)
ARGUMENTS = (
    argument("name", "KEY", "a setting (default: all)", nargs="?"),
    argument("value", "VALUE", "its new value", nargs="?"),
    switch("--user", "change your own file instead of the store's"),
    switch("--unset", "remove the setting from the file"),
    switch("--accept", "accept settings of the store's file that were changed elsewhere"),
)


def run(call: Call) -> int:
    given = call.arguments
    if given.accept:
        return _accept(call)
    if given.unset and (given.name is None or given.value is not None):
        raise UsageError("--unset takes one setting, and no value.", "engram config KEY --unset")
    if given.name is None:
        return _show_all(call)
    key = settings.key_named(given.name)
    if given.value is None and not given.unset:
        value = key.shown(call.store.settings.get(key.name))
        call.output.document({"name": key.name, "value": value, "doc": key.doc})
        call.output.say(_plain(value))
        return 0
    return _change(call, key)


def _show_all(call: Call) -> int:
    found = {key.name: key.shown(call.store.settings.get(key.name)) for key in settings.KEYS}
    origins = {setting.key.name: setting.origin for setting in configuration(call.store)}
    call.output.document(
        {
            "settings": found,
            "origins": origins,
            "categories": call.store.categories.names,
            "held_back": [held_back._asdict() for held_back in call.store.held_back],
            "files": {
                "store": os.path.join(call.store.places.root, places.CONFIG_NAME),
                "user": places.user_config_file(),
            },
        }
    )
    for key in settings.KEYS:
        origin = "" if origins[key.name] == DEFAULT else f"  ({origins[key.name]})"
        call.output.line(f"{key.name} = {safe_text(_plain(found[key.name]))}{origin}")
        call.output.dim(f"    {key.doc}" + (" Only in your own file." if key.user_only else ""))
    call.output.line(f"Categories: {', '.join(call.store.categories.names)}")
    for held_back in call.store.held_back:
        call.output.say(f"Not accepted here: {held_back.message}")
        call.output.dim(f"    {accepted_settings.ACCEPT}")
    return 0


def _accept(call: Call) -> int:
    if call.arguments.name is not None or call.arguments.user or call.arguments.unset:
        raise UsageError("--accept takes no key and no other options.", accepted_settings.ACCEPT)
    where = call.store.places
    accepted: tuple[accepted_settings.HeldBack, ...] = ()
    if where.repository is not None:
        accepted = accepted_settings.accept(where.root, where.state)
    call.output.document({"accepted": [setting._asdict() for setting in accepted]})
    call.output.say(*(f"{setting.key} = {_plain(setting.wanted)}" for setting in accepted))
    if not accepted:
        call.output.line("Nothing waits to be accepted.")
    return 0


def _change(call: Call, key: settings.Key) -> int:
    given = call.arguments
    if not given.user and not key.counts_in_a_store(given.value):
        what = key.name if key.user_only else f"{key.name} = {given.value}"
        raise UsageError(
            f"{what} is read only from your own configuration file.", f"engram config {key.name} VALUE --user"
        )
    path = (
        places.user_config_file() if given.user else os.path.join(call.store.places.root, places.CONFIG_NAME)
    )
    value = None if given.unset else settings.parse_value(key, given.value)
    if key.name == "record.category" and value and not given.user:
        call.store.categories.parse(str(value))
    config_file.change(path, key.name, value)
    value = key.shown(value)
    if not given.user and call.store.places.repository is not None:
        accepted_settings.accept(call.store.places.root, call.store.places.state, [key.name])
    call.output.document({"name": key.name, "value": value, "file": path})
    call.output.say(f"{key.name} {'is unset' if given.unset else '= ' + _plain(value)} in {path}")
    own_file = places.user_config_file()
    own_value = config_file.read(own_file).get(key.name)
    if not given.user and own_value not in (None, value):
        call.output.note(
            f"Your own {own_file} sets it to {_plain(own_value)}, which takes precedence for you."
        )
    return 0


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
