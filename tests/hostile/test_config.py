"""Hostile configuration: refused with a message that names the file, or ignored; it never leads Engram out of the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from effort import sampled
from forked_kit import forked
from hostile_kit import CORPUS, ESCAPES, RECALLED, check_result, cli

from engram.adapters.files import config_file
from engram.domain.errors import ConfigError

COMMANDS = (
    ("list",),
    ("query", "idempotent queue"),
    ("config",),
    ("record", "text", "-c", "fact"),
    ("doctor",),
)
FILES = sorted(CORPUS.glob("*.toml"))
GOOD = '[store]\nfolder = "lore"\n'


@pytest.fixture
def config(root: Path) -> Path:
    """Yield the store's configuration file, and repair it after the test, so that the store can be checked."""
    return root / ".engram.toml"


def refused(root: Path, raw: bytes) -> str:
    """Check that every command fails with the same message, and return it."""
    config = root / ".engram.toml"
    config.write_bytes(raw)
    try:
        said = {check_result(cli(*command, cwd=root), 2).err for command in COMMANDS}
        assert len(said) == 1
        with pytest.raises(ConfigError):
            config_file.load(str(root))
        assert config.read_bytes() == raw
    finally:
        config.write_text(GOOD)
    return said.pop()


@sampled("path", FILES, 12, ids=lambda path: path.name)
def test_the_corpus_is_refused_with_the_name_of_the_file(root: Path, path: Path) -> None:
    assert ".engram.toml" in refused(root, path.read_bytes())


def test_the_corpus_exists() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'a = "' + b"x" * 100_000_000 + b'"', "larger than 64 KiB"),
        (b"\0" * 60_000, "not valid TOML"),
        (b"[" * 60_000, "not valid TOML"),
        (b"x = " + b"[" * 60_000, "nested too deeply"),
        (b"x = " + b"1" * 60_000, "not valid TOML"),
        (b".".join([b"a"] * 30_000) + b" = 1", "nested too deeply"),
    ],
    ids=["100 MB", "nul", "tables", "lists", "digits", "dots"],
)
def test_a_large_configuration_is_refused(root: Path, raw: bytes, message: str) -> None:
    assert message in refused(root, raw)


def test_a_byte_order_mark_and_no_content_are_fine(root: Path, config: Path) -> None:
    for raw in (b"", b"\xef\xbb\xbf" + GOOD.encode(), b"# only a comment"):
        config.write_bytes(raw)
        assert RECALLED in check_result(cli("query", "idempotent queue", cwd=root), 0).out
    config.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    check_result(cli("config", "recall.limit", "7", cwd=root), 0)
    assert check_result(cli("config", "recall.limit", cwd=root), 0).out == "7\n"


def test_user_only_settings_are_ignored_in_a_store(root: Path, config: Path, tmp_path: Path) -> None:
    trap = tmp_path / "model"
    config.write_text(
        f'[embedding]\nprovider = "path"\npath = "{trap}"\n[record]\nagent = "mallory"\n'
        "[recall]\nlog = false\n[git]\nbackground = false\n"
    )
    shown = check_result(cli("config", "--json", cwd=root), 0).json["settings"]
    assert shown["embedding.path"] == ""
    assert shown["record.agent"] == ""
    assert shown["recall.log"] is True
    assert shown["git.background"] is True
    assert RECALLED in check_result(cli("query", "idempotent queue", cwd=root), 0).out


class TestLinks:
    @pytest.mark.parametrize("target", ["/etc/passwd", "outside.toml"])
    def test_a_linked_store_file_is_refused(
        self, root: Path, config: Path, tmp_path: Path, target: str
    ) -> None:
        (tmp_path / "outside.toml").write_text(GOOD)
        config.unlink()
        config.symlink_to(tmp_path / target)
        for command in COMMANDS:
            assert "is a symbolic link" in check_result(cli(*command, cwd=root), 2).err
        config.unlink()
        config.write_text(GOOD)

    @pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
    def test_what_is_no_file_is_no_store(self, root: Path, config: Path, kind: str) -> None:
        config.unlink()
        if kind == "folder":
            config.mkdir()
        elif kind == "pipe":
            os.mkfifo(config)
        else:
            config.symlink_to("/dev/zero")
        check_result(forked("list", "--scope", "project", cwd=root), 3)
        config.rmdir() if kind == "folder" else config.unlink()
        config.write_text(GOOD)

    @pytest.mark.parametrize("folder", ["lore", "notes/lore"])
    def test_a_folder_reached_through_a_link_is_refused(
        self, root: Path, config: Path, tmp_path: Path, folder: str
    ) -> None:
        (tmp_path / "outside" / "lore").mkdir(parents=True)
        (root / "lore").rename(root / "kept")
        (root / folder.split("/", maxsplit=1)[0]).symlink_to(tmp_path / "outside")
        config.write_text(f'[store]\nfolder = "{folder}"\n')
        for command in COMMANDS:
            assert "is a symbolic link" in check_result(cli(*command, cwd=root), 2).err
        assert not [*(tmp_path / "outside").rglob("*.md")]
        (root / folder.split("/", maxsplit=1)[0]).unlink()
        (root / "kept").rename(root / "lore")
        config.write_text(GOOD)

    def test_a_persons_own_file_may_be_a_link_and_stays_one(
        self, root: Path, user_file: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "dotfiles.toml").write_text("[recall]\nlimit = 3 # mine\n")
        user_file.symlink_to(tmp_path / "dotfiles.toml")
        assert check_result(cli("config", "recall.limit", cwd=root), 0).out == "3\n"
        check_result(cli("config", "recall.limit", "4", "--user", cwd=root), 0)
        assert user_file.is_symlink()
        assert (tmp_path / "dotfiles.toml").read_text() == "[recall]\nlimit = 4 # mine\n"


@pytest.mark.parametrize(
    "raw", [b"[[[[", b"\xff", b"\0" * 100, b"[x]\ny = 1", b"[recall]\nlimit = 1e400"], ids=ascii
)
def test_a_broken_user_configuration_is_named(root: Path, user_file: Path, raw: bytes) -> None:
    user_file.write_bytes(raw)
    assert str(user_file) in check_result(cli("list", cwd=root), 2).err
    assert user_file.read_bytes() == raw
    user_file.unlink()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_user_configuration_that_is_no_file_is_named(root: Path, user_file: Path, kind: str) -> None:
    user_file.mkdir() if kind == "folder" else os.mkfifo(user_file)
    check_result(forked("list", cwd=root), 2)
    check_result(forked("config", "recall.log", "false", "--user", cwd=root), 2)
    user_file.rmdir() if kind == "folder" else user_file.unlink()


@pytest.mark.parametrize("path", ["/etc", "/no/such", "/etc/passwd", "\\u0000", "\\u001b[31m", "x" * 5000])
def test_a_model_at_an_invalid_path_disables_only_vectors(root: Path, user_file: Path, path: str) -> None:
    user_file.write_text(f'[embedding]\nprovider = "path"\npath = "{path}"\n')
    said = check_result(cli("query", "idempotent queue", cwd=root), 0)
    assert RECALLED in said.out
    assert "words only" in said.err
    user_file.unlink()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recall.limit", "[" * 30_000),
        ("recall.limit", "9" * 5000),
        ("recall.limit", "NaN"),
        ("recall.min_confidence", "Infinity"),
        ("recall.min_confidence", "1e400"),
        ("store.folder", "../.."),
        ("store.folder", "a\nb"),
        ("store.folder", ".GIT/hooks"),
        ("store.folder", ESCAPES),
        ("store.folder", "\udcff"),
        ("store.categories", '{"\\u001b[31m": "semantic"}'),
        ("secrets.allow", "\udcff"),
        ("embedding.path", "/etc"),
        ("\udcff", "x"),
        (ESCAPES, "x"),
        ("store", "x"),
        ("", "x"),
    ],
    ids=lambda value: ascii(value[:12]),
)
def test_a_value_that_toml_cannot_express_is_not_written(
    root: Path, config: Path, name: str, value: str
) -> None:
    before = config.read_bytes()
    check_result(cli("config", name, value, cwd=root), 2)
    assert config.read_bytes() == before
