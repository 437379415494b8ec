"""Installing the merge driver: at `init`, by the doctor, on request, and never over existing attributes."""

from __future__ import annotations

from pathlib import Path

from apikit import cli, dedicated, git, ok

from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.write.merge_driver import configured_command
from engram.usecases.merge.install_driver import driver_command, install_merge_driver


def test_init_configures_git_and_commits_the_attributes(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    assert git(root, "show", "HEAD:.gitattributes") == "lore/** -text\nlore/** merge=engram"
    assert git(root, "check-attr", "merge", "text", "--", "lore/x.md").splitlines() == [
        "lore/x.md: merge: engram",
        "lore/x.md: text: unset",
    ]
    assert git(root, "config", "--local", "merge.engram.driver") == driver_command()
    assert git(root, "status", "--porcelain") == ""


def test_attributes_that_lead_elsewhere_are_neither_read_nor_copied(pair: tuple[Path, Path]) -> None:
    root = pair[1]
    (root.parent / "private").write_text("a secret of this machine\n")
    (root / ".gitattributes").unlink()
    (root / ".gitattributes").symlink_to(root.parent / "private")
    found = cli("doctor", "--fix", "--json", cwd=root).json["findings"]
    assert ["not a regular file" in one["message"] for one in found if one["kind"] == "merge-driver"] == [
        True
    ]
    assert "a secret" not in git(root, "log", "-p", "--all")


def test_an_older_store_is_completed_by_the_doctor(pair: tuple[Path, Path]) -> None:
    root = pair[1]
    (root / ".gitattributes").write_text("*.png binary\nlore/** -text")
    git(root, "commit", "-qam", "as it was before")
    git(root, "config", "--unset", "merge.engram.driver")
    found = ok("doctor", "--json", cwd=root).json["findings"]
    assert [(one["kind"], one["where"]) for one in found] == [
        ("merge-driver", "attributes"),
        ("merge-driver", "command"),
    ]
    ok("doctor", "--fix", cwd=root)
    assert git(root, "show", "HEAD:.gitattributes") == "*.png binary\nlore/** -text\nlore/** merge=engram"
    assert ok("doctor", cwd=root).out == "All is well.\n"
    repo = find_repository(str(root))
    assert repo is not None
    assert install_merge_driver(repo) == ()


def test_in_a_code_repository_git_is_configured_only_on_request(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    ok("init", "--placement", "in-tree", cwd=tmp_path)
    assert not (tmp_path / ".gitattributes").exists()
    repo = find_repository(str(tmp_path))
    assert repo is not None
    assert configured_command(repo) == ""
    assert install_merge_driver(repo, root=str(tmp_path)) == ("attributes", "command")
    assert install_merge_driver(repo, root=str(tmp_path)) == ()
