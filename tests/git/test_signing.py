"""Engram signs its commits where git is to sign: with the person's key, without asking, and says where it cannot."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from apikit import cli, git, ok
from storekit import commit
from sync_kit import Clones

from engram.usecases.recording.edit import Edit

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen signs and verifies")
ADA = "ada@example.org"
NOTE = "The door code of the archive changes on Mondays."


@pytest.fixture
def clones(tmp_path: Path, home: Path) -> Clones:
    """Two clones; git knows Ada's ssh key everywhere, and whoever has `commit.gpgsign` signs with it."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ada"], check=True)
    (tmp_path / "signers").write_text(f"{ADA} {(tmp_path / 'ada.pub').read_text()}")
    with (home / ".gitconfig").open("a") as file:
        file.write(f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {tmp_path / "signers"}\n')
        file.write(f"[user]\n\tsigningkey = {tmp_path / 'ada.pub'}\n")
    return Clones(tmp_path)


def states(root: Path, count: int) -> list[str]:
    return git(root, "log", f"-{count}", "--format=%G?%GS").split("\n")


def test_engrams_commits_are_signed_and_otherwise_unchanged(clones: Clones) -> None:
    root = clones.root("b")
    git(root, "config", "commit.gpgsign", "true")
    lore = clones.record("b", f"{NOTE}\n\nÄ second paragraph.")
    clones["b"].edit(lore.id, Edit(add_tags=("signed",)))
    commit(clones["b"])
    assert states(root, 2) == [f"G{ADA}"] * 2
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "for-each-ref", "refs/worktree") == ""
    assert git(root, "fsck", "--strict", "--no-dangling") == ""
    message = git(root, "log", "-1", "--format=%B", "HEAD~1")
    assert NOTE[:40] in message
    assert f"Engram-Lore: {lore.id}" in message
    status = ok("status", "--json", cwd=root).json["git"]
    assert (status["unsigned"], status["unsigned_merges"]) == ("", True)
    assert "merges and proposals are not signed" in " ".join(ok("status", cwd=root).out.split())


def test_a_signer_that_the_settings_name_vouches_for_a_confidence_and_not_for_a_pin(
    clones: Clones, home: Path
) -> None:
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[trust]\naccept = ["{ADA}"]\n')
    claims = {"category": "fact", "type": "procedural", "confidence": 0.9, "pinned": True}
    unsigned = clones["b"].record("Nobody signed what this claims.", **claims).lore.id
    clones.sync("b")
    git(clones.root("b"), "config", "commit.gpgsign", "true")
    signed = clones["b"].record(NOTE, **claims).lore.id
    clones.sync("b")
    root = clones.root("a")
    clones["a"].close()
    ok("sync", cwd=root)
    rows = {one["id"]: one["here"] for one in ok("list", "--json", cwd=root).json["lore"]}
    assert rows == {signed: 0.9, unsigned: 0.7}
    asked = ok("review", "--kind", "foreign", "--json", cwd=root).json["items"]
    assert {one["lore"][0] for one in asked} == {signed, unsigned}


def test_entries_that_colleagues_record_with_engram_count_where_only_signed_ones_do(
    clones: Clones, home: Path
) -> None:
    """Also after a merge, which is not signed because every machine makes the same one."""
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[trust]\nhold = "unsigned"\n')
    git(clones.root("b"), "config", "commit.gpgsign", "true")
    clones.record("b", NOTE)
    clones.record("a", "Something else.")
    clones.sync("a", "b")
    root = clones.root("a")
    clones["a"].close()
    assert ok("sync", "--json", cwd=root).json["held"] == 0
    assert ok("trust", "list", "--json", cwd=root).json["held"] == []
    git(clones.root("b"), "config", "commit.gpgsign", "false")
    clones.record("b", "Whoever wrote this did not sign it.")
    clones.sync("b")
    assert ok("sync", "--json", cwd=root).json["held"] == 1


@pytest.mark.parametrize("key", ["there is none", "it needs a passphrase"])
def test_commits_that_cannot_be_signed_are_made_unsigned_and_reported(
    clones: Clones, key: str, tmp_path: Path
) -> None:
    root = clones.root("b")
    git(root, "config", "commit.gpgsign", "true")
    git(root, "config", "user.signingkey", str(tmp_path / "eve.pub"))
    if key == "it needs a passphrase":
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret words", "-f", str(tmp_path / "eve")]
        subprocess.run(words, check=True)
    clones.record("b", NOTE)
    commit(clones["b"])
    assert states(root, 1) == ["N"]
    assert ok("status", "--json", cwd=root).json["git"]["unsigned"]
    assert "commits are not signed" in ok("status", cwd=root).out
    assert "not signed" in cli("doctor", cwd=root).out
    git(root, "config", "user.signingkey", str(tmp_path / "ada.pub"))
    clones.record("b", "Another one.")
    commit(clones["b"])
    assert states(root, 1) == [f"G{ADA}"]
    assert ok("status", "--json", cwd=root).json["git"]["unsigned"] == ""


def test_a_program_in_the_work_tree_is_not_used_to_sign(clones: Clones) -> None:
    root = clones.root("b")
    (root / "sign").write_text("#!/bin/sh\ntouch ran\n")
    (root / "sign").chmod(0o755)
    for setting, value in (
        ("commit.gpgsign", "true"), ("gpg.format", "openpgp"), ("gpg.program", str(root / "sign"))
    ):  # fmt: skip
        git(root, "config", setting, value)
    clones.record("b", NOTE)
    commit(clones["b"])
    assert states(root, 1) == ["N"]
    assert not list(clones.folder.rglob("ran"))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gpg"), reason="gpg signs here")
def test_gpg_signs_with_a_key_without_passphrase_and_never_asks_for_one(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tempfile.mkdtemp(prefix="engram-gpg-", dir="/tmp")  # a socket's path has to be short
    monkeypatch.setenv("GNUPGHOME", folder)
    try:
        for name, words in (("Ada", ""), ("Eve", "secret")):
            subprocess.run(
                ["gpg", "-q", "--batch", "--pinentry-mode", "loopback", "--passphrase", words,
                 "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", "never"],
                check=True, capture_output=True,
            )  # fmt: skip
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True)  # which knows the passphrase still
        root = clones.root("b")
        for setting, value in (("commit.gpgsign", "true"), ("gpg.format", "openpgp")):
            git(root, "config", setting, value)
        for name, state in (("Ada", "G"), ("Eve", "N")):
            git(root, "config", "user.signingkey", f"{name}@example.org")
            clones.record("b", f"{NOTE} {name}.")
            commit(clones["b"])
            assert states(root, 1)[0][0] == state, name
        assert ok("status", "--json", cwd=root).json["git"]["unsigned"]
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False)
        shutil.rmtree(folder)
