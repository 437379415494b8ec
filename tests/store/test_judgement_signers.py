"""If signatures are required, people are counted by signature, not by name or by whose ledger it is."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from apikit import git, ok
from sync_kit import Clones

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen signs and verifies")
BRANCH = "engram/judgements"
PEOPLE = ("ada", "bob")
NOTE = "The door code of the archive changes on Mondays."


@pytest.fixture
def clones(tmp_path: Path, home: Path) -> Clones:
    """Three clones: `b` and `c` have keys of their own, Bob's and Ada's, which git knows; `a` is the reader's."""
    for who in (*PEOPLE, "eve"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", tmp_path / who], check=True
        )
    listed = [f"{who}@example.org {(tmp_path / f'{who}.pub').read_text()}" for who in PEOPLE]
    (tmp_path / "signers").write_text("".join(listed))
    with (home / ".gitconfig").open("a") as file:
        file.write(f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tallowedSignersFile = {tmp_path / "signers"}\n')
    made = Clones(tmp_path, "abc")
    for name, who in (("b", "bob"), ("c", "ada")):
        root = made.root(name)
        git(root, "config", "user.name", "Anybody")
        git(root, "config", "user.signingkey", str(tmp_path / f"{who}.pub"))
        git(root, "config", "commit.gpgsign", "true")
    return made


def demand(home: Path, accepted: str = "") -> None:
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[trust]\nhold = "unsigned"\naccept = [{accepted}]\n')


def shown(clones: Clones, lore_id: str) -> dict[str, object]:
    """Return an entry as the reader's clone shows it after a sync."""
    clones["a"].close()
    ok("sync", cwd=clones.root("a"))
    found: dict[str, object] = ok("show", lore_id, "--json", cwd=clones.root("a")).json["lore"]
    return found


def judge(clones: Clones, name: str, lore_id: str) -> None:
    clones.sync(name)
    clones[name].feedback(helpful=lore_id)
    clones.sync(name)


def push_line(clones: Clones, lore_id: str, text: str, source: str, key: str = "") -> None:
    """Push a line into somebody's ledger, as anybody with the right to may; signed with a key, if one is given."""
    folder = clones.folder / f"stranger-{clones.clock.new_id()}"
    git(clones.folder, "clone", "-q", "-b", BRANCH, str(clones.hub), str(folder))
    line = Judgement(clones.clock.new_id(), lore_id, "helpful", text=text, source=source)
    file = folder / ledger.path_of(source, line.id)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((file.read_bytes() if file.exists() else b"") + ledger.render(line))
    git(folder, "add", "-A")
    sign = ("-c", f"user.signingkey={clones.folder / key}.pub") if key else ()
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(folder, *person, *sign, "commit", "-q", "-m", "Add judgements", *(("-S",) if key else ()))
    git(folder, "push", "-q", "origin", f"HEAD:{BRANCH}")


def test_people_are_counted_by_signature_and_never_by_author_name_or_ledger(
    clones: Clones, home: Path
) -> None:
    demand(home)
    lore = clones["b"].record(NOTE, category="fact", type="procedural").lore
    judge(clones, "b", lore.id)
    text = ledger.words_digest(lore)
    assert shown(clones, lore.id)["tier"] == "unconfirmed", "its author's own"
    for source in (clones["c"].store.source_id, ulid.encode(1_700_000_000_000, 7)):
        push_line(clones, lore.id, text, source)
        push_line(clones, lore.id, text, source, "eve")
    found = shown(clones, lore.id)
    assert (found["tier"], found["confidence"], found["here"]) == ("unconfirmed", 1.0, 0.7), (
        "nobody known signed"
    )
    push_line(clones, lore.id, text, ulid.encode(1_700_000_000_000, 8), "bob")
    assert shown(clones, lore.id)["tier"] == "unconfirmed", "the author, from another machine"
    judge(clones, "c", lore.id)
    found = shown(clones, lore.id)
    assert (found["tier"], found["here"]) == ("confirmed", 0.78)
    said = found["confirmed"]
    assert isinstance(said, dict)
    assert (said["people"], said["last_by"], said["counted_by"]) == (1, "ada example.org", "signature")
    assert (
        "confirmed 1× by signature, last by ada example.org" in ok("show", lore.id, cwd=clones.root("a")).out
    )


def test_requiring_signatures_applies_at_once_and_an_accepted_key_covers_earlier_lines(
    clones: Clones, home: Path, tmp_path: Path
) -> None:
    lore = clones["b"].record(NOTE, category="fact", type="procedural").lore
    clones.sync("b", "c")
    git(clones.root("c"), "config", "user.signingkey", str(tmp_path / "eve.pub"))
    judge(clones, "c", lore.id)
    by_name = shown(clones, lore.id)
    assert (by_name["tier"], by_name["confirmed"]["counted_by"]) == ("confirmed", "name")  # type: ignore[index]
    demand(home)
    assert shown(clones, lore.id)["tier"] == "unconfirmed"
    key = subprocess.run(
        ["ssh-keygen", "-lf", tmp_path / "eve.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    demand(home, f'"{key}"')
    assert shown(clones, lore.id)["tier"] == "confirmed"
    ok("reindex", "--rebuild", cwd=clones.root("a"))
    rows = ok("list", "--json", cwd=clones.root("a")).json["lore"]
    assert [one["tier"] for one in rows if one["id"] == lore.id] == ["confirmed"]
    demand(home)
    assert shown(clones, lore.id)["tier"] == "unconfirmed"
