"""Settings: the types of values, the nearest name for an unknown one, and reading a document as dotted names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.errors import ConfigError
from engram.domain.settings import KEYS, Settings, check, flatten, key_named

NAMES = [key.name for key in KEYS]
values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_has_a_meaning_and_its_default_is_valid_or_unset(name: str) -> None:
    key = key_named(name)
    assert key.doc.endswith(".")
    assert Settings({}).get(name) == key.default
    if key.default or not key.choices:
        assert check(name, key.default, "a file") == key.default or name == "store.folder"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("recall.limt", "recall.limit"),
        ("recall.min-confidence", "recall.min_confidence"),
        ("store.categorys", "store.categories"),
        ("embeding.provider", "embedding.provider"),
        ("limit", "recall.limit"),
    ],
)
def test_an_unknown_key_names_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(ConfigError, match="there is no setting") as caught:
        key_named(wrong, "x.toml")
    assert right in caught.value.hint
    assert "x.toml" in caught.value.message
    assert caught.value.exit_code == 2


def test_a_key_unlike_any_other_lists_all_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        key_named("zzzz")
    assert all(name in caught.value.hint for name in NAMES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recall.limit", 0),
        ("recall.limit", 101),
        ("recall.limit", "5"),
        ("recall.limit", 5.5),
        ("recall.limit", True),
        ("recall.min_confidence", 1.1),
        ("recall.min_confidence", float("nan")),
        ("recall.min_confidence", "high"),
        ("recall.log", "yes"),
        ("recall.log", 1),
        ("store.placement", "floating"),
        ("store.placement", ""),
        ("embedding.provider", "cloud"),
        ("secrets.allow", "abc"),
        ("store.categories", ["RECIPE"]),
        ("store.categories", {"RECIPE": "nonsense"}),
        ("store.categories", {"RECIPE": 1}),
        ("store.categories", {"": "semantic"}),
        *(
            ("store.folder", folder)
            for folder in ("", "/etc", "..", "a/../b", ".git/x", "a//b", "C:x", "a\\b", "lore/")
        ),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_file_and_key(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        check(name, value, "x.toml")
    assert caught.value.message.startswith(f"x.toml: {name}")


def test_an_integer_is_accepted_for_a_float() -> None:
    assert check("record.confidence", 1, "x") == 1.0
    assert isinstance(check("record.confidence", 1, "x"), float)


@given(st.sampled_from(NAMES), values)
def test_any_value_is_accepted_or_refused_without_a_crash(name: str, value: object) -> None:
    try:
        assert type(check(name, value, "x")) is type(key_named(name).default)
    except ConfigError as error:
        said = error.message
    else:
        return
    assert name in said


def test_tables_become_dotted_names_but_tables_that_are_values_stay() -> None:
    document = {"recall": {"limit": 3}, "store": {"categories": {"RECIPE": "procedural"}}, "empty": {}}
    assert flatten(document) == {
        "recall.limit": 3,
        "store.categories": {"RECIPE": "procedural"},
        "empty": {},
    }
