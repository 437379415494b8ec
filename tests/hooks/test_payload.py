"""What hooks read of their input: the head and tail of megabytes, in pieces, in any shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import sampled
from hookkit import CLAUDE, ERROR, FAILURE, LESSON, PROMPT, call, make_store, text_of

from tests.hooks.test_process import calm, payload, run

MEGABYTE = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path / "work")


@sampled("filling", [b'\\"{[', b"x", b"line of a log\\n", b"\\\\", b"\\u00e4", "ä".encode()])
def test_of_ten_megabytes_the_head_and_the_tail_are_read(filling: bytes, root: Path) -> None:
    long = b'"more": "' + filling * (10 * MEGABYTE // len(filling)) + b'"'
    asked = payload(root)[1:-1]
    assert LESSON in calm("prompt", root, raw=b"{" + asked + b", " + long + b"}").out
    other = asked.replace(b'"session_id": "', b'"session_id": "other ')
    assert LESSON in calm("prompt", root, raw=b"{" + long + b", " + other + b"}").out


@pytest.mark.slow
def test_of_many_megabytes_in_many_pieces_the_head_is_read(root: Path) -> None:
    pieces = b'"pieces": [' + b'{"a": ["b"]}, ' * MEGABYTE + b"1]"
    assert LESSON in run(root, payload(root)[:-1] + b", " + pieces + b"}").stdout.decode()


def test_the_error_at_the_end_of_megabytes_of_output_is_found(root: Path) -> None:
    output = "compiled one more file without a word\n" * (6 * MEGABYTE // 38) + ERROR
    failure = payload(root, "tool-failure", error=output)
    assert FAILURE in text_of(json.loads(calm("tool-failure", root, raw=failure).out))


@pytest.mark.slow
def test_a_large_payload_is_answered_all_the_same(root: Path) -> None:
    large = payload(root)[:-1] + b', "more": "' + b"x" * MEGABYTE + b'"}'
    assert LESSON in calm("prompt", root, raw=large).out


def test_a_payload_may_be_of_any_shape(root: Path) -> None:
    for raw in (b"", b"[]", b"null", b'"x"', b"{", b"\xff\xfe", b"{}", b'{"session_id": 7, "prompt": ["x"]}'):
        assert call(CLAUDE, "prompt", raw).out == ""
    deep = b'{"prompt":' + b"[" * 200_000
    assert call(CLAUDE, "prompt", deep).out == ""
    assert json.loads(call(CLAUDE, "prompt", json.dumps({"prompt": PROMPT, "cwd": str(root)}).encode()).out)
