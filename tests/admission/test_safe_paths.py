"""Paths of a remote: none that leads elsewhere, hides, or is another path on some file system.

Mutants that make no difference: how long a path may be and how many names are remembered, give or take one; which
plain names take the short way.
"""

from __future__ import annotations

from unicodedata import bidirectional, category

import pytest

from engram.domain.admission.safe_paths import (
    fold_name,
    folders_of,
    impostor,
    twins,
    unsafe_name,
)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("lore/2026/a-b--01J.md", ""),
        ("lore/日本 (2).md", ""),
        ("", "leads out of"),
        ("/etc/passwd", "leads out of"),
        ("lore/../../x", "leads out of"),
        ("lore/\u200d.", "leads out of"),
        ("lore/.GIT/config", "would lie in a .git"),
        ("lore/.g\u200cit/config", "would lie in a .git"),
        ("git~1/config", "would lie in a .git"),
        (".git::$INDEX_ALLOCATION/x", "would lie in a .git"),
        ("lore\\x.md", "control characters or backslashes"),
        ("lore/a\nb.md", "control characters or backslashes"),
        ("lore/a\udc80.md", "not UTF-8"),
        ("lore/a\u202egpj.md", "reorder or hide"),
        ("lore/.x.engram-tmp", "temporary file"),
        ("lore/con.md", "Windows has no file"),
        ("lore/aux", "Windows has no file"),
        ("lore/nul .txt", "Windows has no file"),
        ("lore/COM¹.md", "Windows has no file"),
        ("lore/a?.md", "Windows has no file"),
        ("lore/a. ", "Windows has no file"),
        (f"lore/{'a' * 240}", ""),
        (f"lore/{'a' * 241}", "too long"),
        (f"lore/{'ä' * 120}", ""),
        (f"lore/{'ä' * 121}", "too long"),
        ("a/" * 600, "path that is too long"),
    ],
)
def test_a_path_that_some_system_cannot_write_is_refused(path: str, why: str) -> None:
    assert why in unsafe_name(path)
    assert bool(unsafe_name(path)) == bool(why)


def test_the_characters_that_reorder_or_hide_text_are_those_of_unicode() -> None:
    for code in (*range(0x80, 0x2400), *range(0xDFFF0, 0xE0100)):
        letter = chr(code)
        turns = bidirectional(letter) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
        is_tag = 0xE0000 <= code < 0xE0080
        hides = turns or is_tag or category(letter) in {"Cc", "Zl", "Zp"}
        assert ("reorder" in unsafe_name(f"a{letter}b")) is hides, hex(code)


def test_a_path_that_some_file_systems_take_for_a_store_file_is_an_impostor() -> None:
    for path in (".engram.toml", "lore/a.md", "deep/.Engram.toml", "lores/a.md"):
        assert impostor(path, "lore") == "", path
    assert impostor(".ENGRAM.toml", "lore").endswith("take for .engram.toml")
    assert impostor("Lore/a.md", "lore").endswith("take for lore")
    assert impostor(".gitmodules ", "lore") == "declares submodules"


def test_names_are_folded_as_by_the_least_discriminating_file_system() -> None:
    assert fold_name("Cafe\u0301. ") == fold_name("CAFÉ") == fold_name("ca\u200dfé")
    assert fold_name("cafe") != fold_name("café")


def test_twins_are_the_added_paths_that_equal_another_on_some_file_system() -> None:
    there = {"": ["lore"], "lore": ["A.md"]}
    assert twins(["lore/a.md", "Lore/b.md", "lore/A.md"], there) == {
        "lore/a.md": "lore/A.md",
        "Lore/b.md": "lore",
    }
    assert twins(["LORE/A.md", "LORE/a.md"], there) == {"LORE/A.md": "lore", "LORE/a.md": "lore"}
    assert twins(["lore/X.md", "lore/x.md"], {}) == {"lore/x.md": "lore/X.md"}, "the first in order stays"
    assert folders_of(["a/b/c.md", "a/d.md"]) == {"", "a", "a/b"}
