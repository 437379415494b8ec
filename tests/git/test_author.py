"""The author's name: from the environment, else from the configuration, which is read again only once it changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram.adapters.git.run.author import author_name, clean, environment_author


def test_characters_that_git_removes_are_removed_from_a_name() -> None:
    assert clean(" .Ada <Lovelace>\n, ") == "Ada  Lovelace"
    assert clean('"Ada O\'Neil"') == "Ada O'Neil"
    assert clean("<>;:") == ""


def test_the_environment_overrides_the_configured_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment_author() == ""
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "a@example.org")
    assert environment_author() == "Ada <a@example.org>"
    assert author_name(str(tmp_path), str(tmp_path / "noted"), lambda: pytest.fail("asked git")) == "Ada"


def test_the_configuration_is_read_once_while_none_of_its_files_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, noted = tmp_path / "gitconfig", tmp_path / "noted"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    asked = []

    def name(value: str, when: int) -> str:
        if when:
            file.write_text(value)
            os.utime(file, (when, when))
        return author_name(
            str(tmp_path), str(noted), lambda: asked.append(1) or [("user.name", value, str(file))]
        )

    monkeypatch.setattr("engram.adapters.git.run.author.RACY_NS", 0)
    assert [name("Ada", 1_000), name("Bob", 0), name("Bob", 2_000), name("Eve", 0)] == [
        "Ada",
        "Ada",
        "Bob",
        "Bob",
    ]
    assert len(asked) == 2
    noted.write_text("{half")
    assert name("Eve", 0) == "Eve"
    other = author_name(str(tmp_path / "other"), str(noted), lambda: [("author.name", "Team.", str(file))])
    assert other == "Team", "another folder may have a configuration of its own"
