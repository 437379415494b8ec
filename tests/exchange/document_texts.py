"""Random documents for the property tests of splitting."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = st.text(alphabet="abc é#`~|<>!-=:.", min_size=1, max_size=60)
LINES = st.lists(WORDS, min_size=1, max_size=12).map("\n".join)
SAFE_LINE = st.text(alphabet="abcdef gh.:", min_size=1, max_size=70).map(lambda text: f"w{text}")
CODE = st.lists(
    st.one_of(SAFE_LINE, st.sampled_from(["", "# no heading", "    indented"])), min_size=1, max_size=40
)


def fenced(mark: str, info: str, code: list[str]) -> str:
    return "\n".join([f"{mark}{info}", *code, mark])


HEADINGS = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 6), SAFE_LINE)
FENCES = st.builds(
    fenced, st.sampled_from(["```", "~~~", "`````"]), st.sampled_from(["", "py", "sh a=b"]), CODE
)
TABLES = st.integers(1, 40).map(lambda rows: "| a | b |\n|---|:-:|" + "\n| 1 | two |" * rows)
COMMENTS = st.lists(SAFE_LINE, max_size=20).map(lambda lines: "\n".join(["<!--", *lines, "-->"]))
PARAGRAPHS = st.lists(SAFE_LINE, min_size=1, max_size=15).map("\n".join)
SETEXT = SAFE_LINE.map(lambda text: f"{text}\n======")
BLOCKS = st.one_of(HEADINGS, HEADINGS, FENCES, TABLES, COMMENTS, PARAGRAPHS, SETEXT)
DOCUMENTS = st.lists(BLOCKS, max_size=25).map("\n\n".join)
ANY_DOCUMENT = st.one_of(st.text(max_size=2000), st.lists(LINES, max_size=20).map("\n\n".join), DOCUMENTS)
LIMITS = st.one_of(st.integers(40, 300), st.integers(300, 4000))


def told(text: str) -> str:
    """Return a text without blank space."""
    return "".join(text.split())
