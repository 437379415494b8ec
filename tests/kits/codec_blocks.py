"""Frontmatter for the property tests of its two parsers: usual shapes with slips in them, and plain chaos."""

from __future__ import annotations

from codec_strategies import NASTY
from hypothesis import strategies as st

_ONE_LINE = st.sampled_from(NASTY).filter(lambda text: "\n" not in text and "\r" not in text)
_FORMS = (
    *("", "a", "0.70", "a b", "a # c", "'x' # c", '"x"  # c', '"a\\tb\\u00e9"', "[]", "{}"),
    *("[a, b]", "[a,b]", "[a, [b]]", "{a: b}", "{a: {b: c}, d: []}", "[{a: b}, c]", "[a: b]"),
    *("{a}", "{a: }", "[a, ]", "[ a ]", "[x] # c", "[x]# c", "{a: b, a: c}", "|", "|-", "|+"),
    *("|2", ">", ">-", "| # c", "&a b", "*a", "!t b", "[a", "'a", '"a', "[c#]", "[a #b]", "[a?]"),
    *('{"a": b}', '{"a":b}', "['a', \"b\"]", "-1", "- a", "a\\"),
)
_SCALARS = st.one_of(_ONE_LINE, st.sampled_from(_FORMS))
_KEYS = st.sampled_from(["alpha", "beta", "alpha-b", "tags", "_x", "'q'", "a b", "1", "? z", "é"])
_LINES = st.one_of(
    st.builds("{}: {}".format, _KEYS, _SCALARS),
    st.builds("{}:{}".format, _KEYS, _SCALARS),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "   "]), _SCALARS),
    st.builds("{}- {}: {}".format, st.sampled_from(["", "  "]), _KEYS, _SCALARS),
    st.builds("{}{}: {}".format, st.sampled_from(["  ", "    ", "      "]), _KEYS, _SCALARS),
    st.builds("{}{}".format, st.sampled_from([" ", "  ", "    ", "      "]), _SCALARS),
    st.sampled_from(
        ["", "# c", "  # c", "  ", "    ", " ", "\tx", "\t", "%x", "...", "alpha:", "beta: |", "beta: |2-"]
    ),
)
_SHAPES = (
    *("{}", "{} # note", "'{}'", '"{}"', '"{}"  # note', "[{}]", "[{}, {}] # note"),
    *("[{}, '{}', \"{}\"]", "{{{}: {}}}", "{{a: {}, b: [{}]}}"),
    *("[{{kind: {}, id: {}}}, {{kind: a}}]", "\n  - {}\n  - {}", "\n- {}\n- {}", "\n  {}: {}"),
    *("|\n  {}\n  {}", "|-\n  {}\n\n    {}\n", "|2\n    {}\n  {}", "|+\n  {}\n\n"),
    *(">\n  {}\n  {}", "{}\n  {}", "# {}", "", "\n  - |\n    {}\n    {}\n  - {}"),
    *("\n  - field: {}\n    value: |\n      {}\n    from: {}\n  - field: x", "\n# {}\n  - {}"),
)
_WORDS = st.one_of(
    st.sampled_from(["a", "b c", "0.70", "K7QM2X9T", "x/y.py", "é😀", "a:b", "it's", "-1", "c#", "a?", ""]),
    _ONE_LINE,
)


@st.composite
def _likely_blocks(draw: st.DrawFn) -> str:
    """Frontmatter in usual shapes, with at most two characters put in, or taken out, somewhere."""
    lines = []
    for key in draw(st.lists(st.sampled_from(["alpha", "beta", "c-d", "_e", "F1"]), unique=True, max_size=4)):
        shape = draw(st.sampled_from(_SHAPES))
        lines.append(
            f"{key}: {shape.format(*[draw(_WORDS) for _ in range(shape.count('{}'))])}\n".replace(
                ": \n", ":\n"
            )
        )
        lines.append(draw(st.sampled_from(["", "", "# note\n", "\n", "  # note\n"])))
    text = "".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from([*" \n:#-,|\"'[]{}\t\\a?", ""]))
            + text[at + draw(st.integers(0, 1)) :]
        )
    return text if text.endswith("\n") or not text else text + "\n"


blocks = st.one_of(
    _likely_blocks(),
    _likely_blocks(),
    st.lists(_LINES, max_size=7).map(lambda lines: "".join([line + "\n" for line in lines])),
)
