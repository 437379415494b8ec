"""The quick reader of settings gives the same values as a TOML parser."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.files import config_file
from engram.domain.errors import ConfigError

HEADERS = (
    "[recall]",
    "[scopes]",
    "[scopes.team-ml]",
    "[scopes.a.b]",
    "[a]",
    "[a.b]",
    "[a.limit]",
    "[[recall]]",
    "[-]",
)
VALUES = (
    "3",
    "03",
    "0.90",
    "1.",
    ".5",
    "true",
    "True",
    "-1",
    "1_0",
    "99999999999",
    "'x'",
    "[]",
    "3#few",
    "1e5",
    "+1",
)
LINES = st.lists(
    st.sampled_from([*HEADERS, "[ recall ]", "# no", ""])
    | st.builds(
        "{} = {}".format,
        st.sampled_from(["limit", "b", "a.b", "a_b", "x-y", '"q"']),
        st.sampled_from([*VALUES, '"x.git"', '"a\\b"', '"5"', '""', '"é"']),
    ),
    max_size=8,
)


@given(LINES)
def test_the_simple_parser_of_settings_agrees_with_toml_or_gives_none(lines: list[str]) -> None:
    raw = "\n".join(lines).encode()
    plain_way = config_file._parse_simple(raw)
    if plain_way is not None:
        assert plain_way == tomllib.loads(raw.decode())


def test_the_simple_parser_and_tomllib_agree(tmp_path: Path) -> None:
    quick = '# note\n[store]\nplacement = "in-tree"\nfolder = "lore"\n'
    for text in (
        quick,
        quick.replace("in-tree", 'in-tree" #"'),
        quick + "[recall]\nlimit = 4\n",
        quick + quick,
    ):
        path = tmp_path / "c.toml"
        path.write_text(text, "utf-8")
        try:
            read = config_file.read(str(path))
        except ConfigError:
            read = {}
        path.write_text(text + "\n[git]\nbackground = true\n", "utf-8")
        try:
            full = config_file.read(str(path))
        except ConfigError:
            full = {}
        assert {**read, "git.background": True} == full or (not read and not full)


_VALUES = [
    *('"a"', "'a'", '"é"', '"a\\n"', '"null"', "true", "tru", "null", "1979-05-27"),
    *("12", "12345678901234567890", "1_000", "+1", "-3", "-0", "00", "0x1", "-", "--"),
    *("1.5", "1.", "1e5", "NaN", "-Infinity", "inf"),
    *("[1,2]", '["a","b"]', '["{"]', "[1,]", "[[1],[true]]", "{a=1}", '{"a":1}'),
]
_LINES = st.one_of(
    st.sampled_from(
        ["[a]", "[a.b]", "[[a]]", "[a.b.c]", "# c", "#\0", "", "\x0c", "x", "= 1", "a.b = 1", "[a] # c"]
    ),
    st.builds("{} = {}".format, st.sampled_from(["k", "a", "key_x"]), st.sampled_from(_VALUES)),
)


@given(st.lists(_LINES, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_a_file_parsed_without_tomllib_has_the_values_that_tomllib_reads(
    lines: list[str], newline: str
) -> None:
    raw = newline.join(lines).encode()
    found = config_file._parse_simple(raw)
    if found is not None:
        assert repr(found) == repr(tomllib.loads(raw.decode()))
