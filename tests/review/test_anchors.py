"""Names of code and versions of packages in a text."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from engram.domain.review.anchors import first_words, may_name, plain_name, version_claims

NAMES = st.text("abZ_-.@/é1", min_size=1, max_size=8)


@example(name="@Scope/Some.Thing", before="with", after="and")
@example(name="a_B", before="(", after=")")
@example(name="a1/", before="", after="")
@given(name=NAMES, before=st.text("ab (.`é", max_size=4), after=st.text("ab ).`é", max_size=4))
def test_a_text_with_a_version_of_a_package_passes_the_fast_test(name: str, before: str, after: str) -> None:
    text = f"{before} {name} 1.2 {after}"
    for known in ({plain_name(name)}, {plain_name(name.strip("_-.@/1"))}):
        if version_claims(text, known):
            assert may_name(text, first_words(known))


def test_a_text_without_any_name_of_a_package_fails_the_fast_test() -> None:
    assert not may_name("Waits of 2.5 seconds are enough.", first_words({"textual", "@scope/name", "my-pkg"}))
