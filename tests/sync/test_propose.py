"""Proposals: lore for a branch that its author may not push to, their contents, and what a sync reports of them."""

from __future__ import annotations

from pathlib import Path

import prepared
import pytest
from apikit import cli, git
from sync_kit import Clones, Left

from engram.domain.errors import RemoteError
from engram.domain.sync.pull_request import pull_request_address
from engram.usecases.recording.edit import Edit

TOPICS = (
    "alpha beacon", "bravo cache", "charlie driver", "delta editor", "echo filter", "foxtrot grammar", "golf handler",
    "hotel indexer", "india journal", "juliet kernel", "kilo ledger", "lima mailer", "mike notifier", "november oracle",
    "oscar parser", "papa queue", "quebec router", "romeo scheduler", "sierra tokenizer", "tango uploader",
)  # fmt: skip
PROTECTED = """#!/bin/sh
# As a host protects a branch: only the reviewer, who says so by a variable, may move it.
[ "$1" = refs/heads/main ] && [ -z "$REVIEWER" ] && { echo "protected branch" >&2; exit 1; }
exit 0
"""


NAMES = {"a": "Ada Lovelace", "b": "Bob Kahn", "c": "Cleo Wade"}


class World(Clones):
    """A remote whose branch of lore is protected; Ada reviews, Bob and Cleo may only propose."""

    def protect(self) -> None:
        for name, person in NAMES.items():
            git(self.root(name), "config", "user.name", person)
            git(self.root(name), "config", "user.email", f"{name}@example.org")
        hook = self.hub / "hooks/update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(PROTECTED, "utf-8")
        hook.chmod(0o755)

    def ids(self, name: str) -> set[str]:
        return {hit.lore.id for hit in self[name].list(limit=1000).lore}


def protected_world(folder: Path) -> World:
    """Three clones with one entry, whose remote takes lore from Ada alone."""
    return World.again(folder, prepared.copy("a protected branch", folder, _make_world))


def _make_world(folder: Path) -> Left:
    world = World(folder, "abc")
    world.record("a", "The first entry of all, which everybody has.")
    world.settle()
    world.protect()
    return world.leave()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return protected_world(tmp_path)


def record_twenty(world: World) -> list[str]:
    return [world.record("b", f"The {topic} needs its own timeout in production.").id for topic in TOPICS]


def propose_twenty(world: World) -> tuple[list[str], str]:
    ids = record_twenty(world)
    with pytest.raises(RemoteError) as declined:
        world.sync("b")
    assert declined.value.kind == "declined"
    assert "engram propose" in declined.value.hint
    done = world["b"].propose("Timeouts")
    assert (done.title, done.entries, done.branch) == ("Timeouts", 20, f"engram/proposals/{done.name}")
    return ids, done.name


def test_a_check_in_a_fresh_clone_of_a_proposal_is_a_comment_about_its_entries_alone(
    world: World, tmp_path: Path
) -> None:
    world.record("b", "The token is in the vault, see [[no `such` entry]] @everyone.")
    name = world["b"].propose("Token").name
    git(tmp_path, "clone", "-q", "-b", f"engram/proposals/{name}", str(world.hub), "ci")
    ci = tmp_path / "ci"
    found = cli("check", "--since", "origin/main", "--markdown", cwd=ci)
    first, gap, finding = found.out.splitlines()
    assert (found.code, first, gap) == (0, "**Engram**: 1 file checked: 0 errors, 1 warning.", "")
    assert finding.startswith("- **warning** link `lore/")
    assert finding.count("`") == 4  # two spans of code, whatever the entry says
    (ci / "lore" / "cut.md").write_text("---\nid: bad\n---\nText.\n", "utf-8")
    found = cli("check", "--since", "origin/main", "--markdown", cwd=ci)
    assert found.code == 1
    assert found.out.splitlines()[2].startswith("- **error** file `lore/cut.md")
    (ci / "lore" / "cut.md").unlink()
    assert git(ci, "status", "--porcelain") == ""


def test_judgements_are_synced_while_a_proposal_is_open(world: World) -> None:
    ids, _ = propose_twenty(world)
    first = next(iter(world.ids("a")))
    world["b"].feedback(helpful=[first])
    (synced,) = world.sync("b")
    assert synced.sent_judgements
    world.sync("c")
    assert world["c"].get(first).lore.validation_count == 1
    assert not world.ids("c") & set(ids)


def test_edits_and_deletions_are_proposed_and_can_be_rejected(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVIEWER", "ada")
    one, two, three = (world.record("a", f"The {topic} is slow.").id for topic in TOPICS[:3])
    world.settle()
    monkeypatch.delenv("REVIEWER")
    bob = world["b"]
    bob.edit(one, Edit(content="The alpha beacon is fast now."))
    bob.edit(two, Edit(content="The bravo cache is fast now."))
    bob.forget(three)
    name = bob.propose("Fast").name
    found = {entry.id: entry for entry in world["a"].proposal(name).entries}
    assert {found[one].kind, found[two].kind, found[three].kind} == {"changed", "forgotten"}
    assert found[one].differences() == ["The alpha beacon is [-slow-]{+fast now+}."]
    monkeypatch.setenv("REVIEWER", "ada")
    world["a"].decide_proposal(
        name, [(one, "accept", ""), (two, "reject", "measured: no"), (three, "reject", "keep")]
    )
    assert world["a"].finish_proposal(name).rejected == 2
    monkeypatch.delenv("REVIEWER")
    world.sync("b", "c")
    world.assert_equal()
    for who in "abc":
        assert "fast now" in world[who].get(one).lore.content
        assert world[who].get(two).lore.content == "The bravo cache is slow."
        assert world[who].get(three).lore.content == "The charlie driver is slow."


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        (
            "git@github.com:team/lore.git",
            "https://github.com/team/lore/compare/engram/lore...engram/proposals/x-1?expand=1",
        ),
        (
            "https://gitlab.example.org/a/b/lore.git",
            (
                "https://gitlab.example.org/a/b/lore/-/merge_requests/new?merge_request%5Bsource_branch%5D="
                "engram%2Fproposals%2Fx-1&merge_request%5Btarget_branch%5D=engram%2Flore"
            ),
        ),
        (
            "ssh://git@codeberg.org/team/lore",
            "https://codeberg.org/team/lore/compare/engram/lore...engram/proposals/x-1",
        ),
        (
            "https://bitbucket.org/team/lore.git",
            "https://bitbucket.org/team/lore/pull-requests/new?source=engram%2Fproposals%2Fx-1&dest=engram%2Flore",
        ),
        ("/srv/git/lore.git", ""),
        ("https://git.example.org/team/lore.git", ""),
    ],
)
def test_the_address_of_a_pull_request_has_the_form_of_the_host(remote: str, address: str) -> None:
    assert pull_request_address(remote, "engram/lore", "engram/proposals/x-1") == address


def test_a_sync_reports_entries_that_the_open_proposal_lacks(world: World) -> None:
    world.record("b", "The first thing to propose is a longer timeout.")
    name = world["b"].propose("Two").name
    assert world.sync("b")[0].notes == ()
    world.record("b", "The second thing to propose is a smaller cache.")
    assert world.sync("b")[0].notes == (
        f"1 entry waits that your proposal {name} does not have yet: engram propose",
    )
