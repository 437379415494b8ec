"""The JSON editor: what is not meant to change keeps every byte; what cannot be read is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.agents.jsonc import Document
from engram.adapters.agents.refusal import CannotEditError
from tests.agents.json_texts import plain, written

# --- any JSON, with the spaces, comments and commas that people write


@given(written())
def test_what_is_parsed_is_what_json_says(text: str) -> None:
    rendered = json.dumps(plain(text))
    assert plain(rendered) == json.loads(rendered)


@given(written(), st.integers(0, 200), st.sampled_from('{}[],:"/*\\x01\ufeff'))
def test_a_text_that_is_broken_is_refused_or_read_but_never_raises_anything_else(
    text: str, at: int, sign: str
) -> None:
    broken = text[:at] + sign + text[at:]
    try:
        Document(broken)
    except CannotEditError:
        return


@pytest.mark.parametrize(
    "text",
    ["[]", "1", "{", '{"a":1', '{"a" 1}', "{'a': 1}", '{"a":1,,}', '{"a":1 "b":2}', '{"a":NaN}', '{"a":01}', "{} {}",
     '{"a":1,"a":2}', "{,}", '{"a":"\n"}', "{//}", "{/*}", "[" * 200, '{"a":' * 200 + "1" + "}" * 200, '{"a":tru}'],
)  # fmt: skip
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(CannotEditError):
        Document(text)
