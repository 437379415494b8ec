"""The state of commits' signatures, with real keys: ssh and, if installed, gpg."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import gitkit
import pytest
from gitkit import git, make_repository

from engram.adapters.git.read.signatures import signatures
from engram.domain.admission.trust import Signature, quarantine_reason

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen signs and verifies")
ADA = "ada@example.org"
PAST = "valid-before=20200101"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two key pairs, `ada` and `eve`; `signers` knows ada's alone."""
    folder = tmp_path_factory.mktemp("keys")
    for who in ("ada", "eve"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / who, "-C", who], check=True
        )
    public = (folder / "ada.pub").read_text()
    (folder / "signers").write_text(f"{ADA} {public}")
    (folder / "expired").write_text(f'{ADA} {PAST.replace("=", "=" + chr(34))}" {public}')
    return folder


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: Path) -> Repository:
    gitkit.isolate(
        monkeypatch,
        tmp_path,
        f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {keys / "signers"}\n',
    )
    return make_repository(tmp_path / "repo")


def commit(repo: Repository, key: Path | None, message: str = "x") -> str:
    sign = ("-c", f"user.signingkey={key}.pub") if key else ()
    git(repo, *sign, "commit", "-q", "--allow-empty", "-m", message, *(("-S",) if key else ()))
    return git(repo, "rev-parse", "HEAD")


def forged(repo: Repository, oid: str) -> str:
    """The commit with other words under the same signature."""
    raw = git(repo, "cat-file", "commit", oid) + "\n"
    return git(
        repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.replace("good words", "evil").encode()
    )


def one(repo: Repository, oid: str) -> Signature:
    return signatures(repo, [oid])[oid]


def test_every_state_of_a_signature_is_reported(repo: Repository, keys: Path) -> None:
    good = commit(repo, keys / "ada", "good words")
    unknown, unsigned = commit(repo, keys / "eve"), commit(repo, None)
    found = signatures(repo, [good, unknown, unsigned, forged(repo, good), "0" * 40])
    assert [signature.state for signature in found.values()] == ["good", "unknown-key", "none", "bad"]
    assert found[good].signer == ADA
    assert found[good].key.startswith("SHA256:")
    assert found[unknown].key != found[good].key
    assert (found[unknown].signer, found[unsigned]) == ("", Signature("none"))


def test_a_signature_that_cannot_be_checked_is_not_called_unsigned(
    repo: Repository, keys: Path, tmp_path: Path
) -> None:
    oid = commit(repo, keys / "ada")
    for line, state in {
        "": "unchecked",
        f"allowedSignersFile = {tmp_path / 'nowhere'}": "unknown-key",
        f"allowedSignersFile = {keys / 'signers'}\n\tprogram = {tmp_path / 'no-program'}": "unchecked",
    }.items():
        (tmp_path / "gitconfig").write_text(f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\t{line}\n')
        assert one(repo, oid).state == state, line


def test_a_key_that_is_no_longer_valid_is_not_good(repo: Repository, keys: Path, tmp_path: Path) -> None:
    oid = commit(repo, keys / "ada")
    git(repo, "config", "gpg.ssh.allowedSignersFile", str(keys / "expired"))
    assert one(repo, oid).state == "unknown-key"
    git(repo, "config", "gpg.ssh.allowedSignersFile", str(keys / "signers"))
    assert one(repo, oid).state == "good"
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", tmp_path / "revoked", keys / "ada.pub"], check=True)
    git(repo, "config", "gpg.ssh.revocationFile", str(tmp_path / "revoked"))
    assert one(repo, oid).state != "good"


def test_a_list_of_signers_that_others_can_push_does_not_count(repo: Repository, keys: Path) -> None:
    oid = commit(repo, keys / "ada")
    inside = Path(repo.worktree, "signers")
    shutil.copy(keys / "signers", inside)
    for name in (str(inside), "signers", "./signers"):
        git(repo, "config", "gpg.ssh.allowedSignersFile", name)
        assert one(repo, oid).state != "good", name


def test_a_program_in_the_work_tree_is_not_run(repo: Repository, keys: Path) -> None:
    oid = commit(repo, keys / "ada")
    program = Path(repo.worktree, "verify")
    program.write_text(f'#!/bin/sh\ntouch {repo.worktree}/executed\nexec ssh-keygen "$@"\n')
    program.chmod(0o755)
    for name in (str(program), "./verify"):
        git(repo, "config", "gpg.ssh.program", name)
        assert one(repo, oid).state == "unchecked", name
    assert not Path(repo.worktree, "executed").exists()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg")
def test_gpg_signatures_are_reported_too(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    batch = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key"]
    subprocess.run([*batch, f"Ada <{ADA}>", "ed25519", "sign", "never"], check=True, capture_output=True)
    git(repo, "config", "gpg.format", "openpgp")
    git(repo, "-c", f"user.signingkey={ADA}", "commit", "-q", "-S", "--allow-empty", "-m", "good words")
    good = git(repo, "rev-parse", "HEAD")
    try:
        found = one(repo, good)
        assert (found.state, found.signer) == ("good", f"Ada <{ADA}>")
        assert one(repo, forged(repo, good)).state == "bad"
        monkeypatch.setenv("GNUPGHOME", str(tmp_path / "empty"))
        os.mkdir(tmp_path / "empty", 0o700)
        assert one(repo, good).state == "unchecked"
    finally:
        for folder in (home, tmp_path / "empty"):
            subprocess.run(["gpgconf", "--homedir", folder, "--kill", "all"], check=False)


GOOD, UNKNOWN = (
    Signature("good", "SHA256:ada", ADA),
    Signature("unknown-key", "SHA256:eve", "eve@example.org"),
)


@pytest.mark.parametrize(
    ("hold", "accepted", "signatures_", "held"),
    [
        ("none", (), (), False),
        ("unsigned", (), (GOOD,), False),
        ("unsigned", (), (GOOD, Signature("none")), True),
        ("unsigned", (), (GOOD, UNKNOWN), True),
        ("unsigned", ("SHA256:eve",), (GOOD, UNKNOWN), False),
        ("unsigned", ("eve@example.org",), (UNKNOWN,), True),
        ("unsigned", ("SOURCE",), (Signature("none"),), True),
        ("unsigned", ("SHA256:ada",), (Signature("bad", "SHA256:ada"),), True),
        ("unsigned", ("SHA256:ada",), (Signature("revoked-key", "SHA256:ada"),), True),
        ("unsigned", (), (), True),
        ("foreign", (), (GOOD,), True),
        ("foreign", (ADA,), (GOOD,), False),
        ("foreign", (ADA,), (GOOD, Signature("none")), True),
        ("foreign", ("SOURCE",), (Signature("none"),), False),
        ("foreign", ("",), (Signature("none"),), True),
        ("foreign", ("",), (Signature("good", "", ""),), True),
    ],
)
def test_quarantine_depends_on_the_rule_the_source_and_the_signatures(
    hold: str, accepted: tuple[str, ...], signatures_: tuple[Signature, ...], held: bool
) -> None:
    assert bool(quarantine_reason(hold, accepted, "SOURCE", signatures_)) is held
    if hold == "foreign" and accepted == ("",):
        assert (
            quarantine_reason(hold, accepted, "", ()) == ""
        )  # an entry that names no source is named by nothing
