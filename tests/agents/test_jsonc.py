"""The JSON parser for comments and trailing commas: what it reads, and what it refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.agents.jsonc import Document
from engram.adapters.agents.refusal import CannotEditError
from tests.agents.json_texts import json_texts, plain


@given(json_texts())
def test_parsed_values_equal_those_of_the_json_module(text: str) -> None:
    rendered = json.dumps(plain(text))
    assert plain(rendered) == json.loads(rendered)


@given(json_texts(), st.integers(0, 200), st.sampled_from('{}[],:"/*\\x01\ufeff'))
def test_broken_text_is_read_or_raises_only_a_refusal(text: str, at: int, character: str) -> None:
    broken = text[:at] + character + text[at:]
    try:
        Document(broken)
    except CannotEditError:
        return


@pytest.mark.parametrize(
    "text",
    ["[]", "1", "{", '{"a":1', '{"a" 1}', "{'a': 1}", '{"a":1,,}', '{"a":1 "b":2}', '{"a":NaN}', '{"a":01}', "{} {}",
     '{"a":1,"a":2}', "{,}", '{"a":"\n"}', "{//}", "{/*}", "[" * 200, '{"a":' * 200 + "1" + "}" * 200, '{"a":tru}'],
)  # fmt: skip
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(CannotEditError):
        Document(text)
