"""The fast reader of canonical frontmatter reads all it accepts as the YAML library does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from codec_strategies import CATEGORIES, blocks, files, lore, nearly_canonical, texts
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.adapters.files.frontmatter import canonical, codec, frontmatter, keys
from engram.adapters.files.frontmatter.frontmatter import Problem

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore

MODIFIED = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
quick = settings(deadline=None, suppress_health_check=list(HealthCheck))


@settings(quick, max_examples=examples(2, 5) * quick.max_examples)
@given(st.one_of(blocks, lore().map(lambda found: block_of(found))))
def test_the_canonical_parser_agrees_with_pyyaml_on_all_it_accepts(block: str) -> None:
    fast = canonical.canonical_entries(block)
    if fast is not None:
        assert fast == keys.parse(block)


@settings(quick, max_examples=examples(2, 5) * quick.max_examples)
@given(
    st.one_of(
        nearly_canonical(),
        nearly_canonical(),
        files(),
        lore().map(lambda found: codec.write_new(found, CATEGORIES)),
    )
)
def test_the_fast_reader_agrees_with_the_full_reader_on_all_it_accepts(raw: bytes) -> None:
    assert_agreement(raw)


@quick
@given(blocks, st.sampled_from(["", "\n", " ", "\t"]), texts)
def test_the_fast_reader_agrees_with_the_full_reader_on_any_frontmatter(
    block: str, lead: str, body: str
) -> None:
    fields = "id: 01JD6TQ8XW9YV3N5K7P2M4R6ST\n"
    assert_agreement(f"---\n{fields}{block}---\n{lead}{body}".encode())


def assert_agreement(raw: bytes) -> None:
    """Assert that the fast reader, if it reads a file at all, agrees with the YAML library."""
    try:
        text = frontmatter.decode(raw)
    except Problem:
        return
    found = codec.read_canonical(text, CATEGORIES)
    if found is None:
        return
    known = codec.read_any(text, raw, "lore/x.md", CATEGORIES, MODIFIED)
    assert (found, repr(found)) == (known.lore, repr(known.lore))
    assert known.adopted


@quick
@given(lore(usual=True))
def test_a_usual_entry_is_read_by_the_fast_reader(given_lore: Lore) -> None:
    text = codec.write_new(given_lore, CATEGORIES).decode()
    assert codec.read_canonical(text, CATEGORIES) == given_lore


def block_of(found: Lore) -> str:
    return frontmatter.split(codec.write_new(found, CATEGORIES).decode()).block


@pytest.mark.parametrize(
    "block",
    [
        "a: b\n",
        "a: b c d\nb: it's\n",
        'a: "x, y: z"\n',
        'a: [b, c]\nd: ["x y", a:b, it\'s]\n',
    ],
)
def test_canonical_keys_need_no_yaml_library(block: str) -> None:
    entries = canonical.canonical_entries(block)
    assert entries is not None
    assert entries == keys.parse(block)


@pytest.mark.parametrize(
    "block",
    [
        *(
            "a: b\n  c\n",
            "a: b\na: c\n",
            "a: &x b\n",
            "a: *x\n",
            "a: !t b\n",
            "a: >\n  b\n",
            "a: |+\n  b\n",
            "a: b: c\n",
        ),
        *(
            "a: [b\n",
            "a: [b]c\n",
            "a: [b]# c\n",
            "a: 'it''s'\n",
            'a: "\\x00"\n',
            'a: "\\ud800"\n',
            "? a\n",
            "- a\n",
            "a\n",
        ),
        *(
            "a: |\n  \tb\n",
            "a: |\n   b\n  c\n",
            "a: \tb\n",
            "'a': b\n",
            "{a: b}\n",
            "a: b\r",
            "a: \x85\n",
            "a:\n- b\n",
        ),
        *(
            "...\n",
            "%YAML 1.1\n",
            "a: - b\n",
            "a: {b}\n",
            "a: [b: c]\n",
            "a: {b: c, b: d}\n",
            "a: [b?]\n",
            "a: @b\n",
        ),
    ],
)
def test_any_other_form_is_left_to_pyyaml(block: str) -> None:
    assert canonical.canonical_entries(block) is None
