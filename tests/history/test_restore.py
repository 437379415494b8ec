"""Restoring past versions of entries; later judgements stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import cli, git, lore_files, ok


def test_a_restored_entry_keeps_later_votes(root: Path) -> None:
    ok("feedback", "--incorrect", "L1", cwd=root)
    done = ok("restore", "L1", "--at", "HEAD~2", "--json", cwd=root).json
    assert done["changed"] is True
    assert done["lore"]["content"].endswith("Measure it.\n\nThen decide.")
    assert (done["lore"]["validation_count"], done["lore"]["path"]) == (1, "lore/moved.md")
    assert sum(vote["down"] for name, vote in done["lore"]["votes"].items() if name != "decay") == 150
    assert done["commit"] in git(root, "log", "-1", "--format=%B")
    again = ok("restore", "L1", "--at", "HEAD~3", "--json", cwd=root).json
    assert again["changed"] is False
    ok("undo", cwd=root)
    assert ok("show", "L1", "--json", cwd=root).json["lore"]["content"].endswith("twice.\n\nThen decide.")


def test_a_forgotten_entry_is_restored_byte_for_byte(root: Path) -> None:
    (file,) = lore_files(root)
    raw, lore_id = file.read_bytes(), ok("show", "L1", "--json", cwd=root).json["lore"]["id"]
    for name in (lore_id, "L1", lore_id[:14]):
        at = "HEAD~1" if len(name) != 14 else "HEAD~2"
        ok("forget", lore_id, cwd=root)
        if len(name) == 14:
            at = git(root, "log", "--format=%H", "--grep=^edit").splitlines()[0]  # under its first name
        ok("restore", name, "--at", at, cwd=root)
        assert ok("show", lore_id, "--json", cwd=root).json["lore"]["content"].endswith("Then decide.")
        if len(name) != 14:
            assert file.read_bytes() == raw


def test_a_vote_on_a_forgotten_entry_is_kept_when_it_is_restored(root: Path) -> None:
    lore_id = ok("show", "L1", "--json", cwd=root).json["lore"]["id"]
    ok("feedback", "--incorrect", "L1", cwd=root)
    ok("forget", "L1", cwd=root)
    ok("restore", lore_id, "--at", "HEAD~1", cwd=root)
    votes = ok("show", lore_id, "--json", cwd=root).json["lore"]["votes"]
    assert [(vote["up"], vote["down"]) for name, vote in votes.items() if name != "decay"] == [(80, 150)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["L1"], 2),
        (["L1", "--at", "nonsense"], 3),
        (["L9", "--at", "HEAD"], 3),
        (["L1", "--at", "main~4"], 3),
        (["01M806ZZWH03EWHXWBG1FA47RA", "--at", "HEAD"], 3),
    ],
)
def test_impossible_restores_are_refused(root: Path, arguments: list[str], code: int) -> None:
    done = cli("restore", *arguments, "--json", cwd=root)
    assert (done.code, "error" in done.json) == (code, True)


def test_a_version_with_a_secret_is_not_restored(root: Path) -> None:
    from apikit import SECRET

    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8") + f"\n{SECRET}\n", "utf-8")
    git(root, "commit", "-qam", "by hand")
    file.write_text(file.read_text("utf-8").replace(SECRET, "gone"), "utf-8")
    git(root, "commit", "-qam", "by hand")
    done = cli("restore", "L1", "--at", "HEAD~1", "--json", cwd=root)
    assert (done.code, done.json["error"]["code"]) == (2, "secret")
    assert SECRET not in file.read_text("utf-8")
