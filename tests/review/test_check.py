"""`engram check` finds problems in a checkout, leaves nothing behind, and no text can forge an annotation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import prepared
import pytest
from apikit import QUEUE, SECRET, TIDES, cli, ok
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.domain.review.annotations import annotation, log_line

TWIN = "Make every handler of a queue consumer idempotent, because brokers deliver twice."


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=Pat", "-c", "user.email=pat@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(("git", *named, *words), cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _make(folder: Path) -> None:
    """Make a checkout of code with two committed entries, not opened yet."""
    source = folder.parent / f"{folder.name}-source"
    source.mkdir()
    git(source, "init", "-q")
    ok("init", str(source), "--placement", "in-tree")
    for text in (QUEUE, TIDES):
        ok("record", text, "-c", "fact", cwd=source)
    git(source, "add", "-A")
    git(source, "commit", "-qm", "base")
    git(source, "clone", "-q", str(source), str(folder / "code"))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    prepared.copy("checkout", tmp_path, _make)
    return tmp_path / "code"


def put(code: Path, name: str, text: str, *, commit: bool = True) -> None:
    file = code / "lore" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    if commit:
        git(code, "add", "-A")
        git(code, "commit", "-qm", "more")


def found(code: Path, *words: str) -> list[tuple[str, str, str, int]]:
    findings = cli("check", *words, "--json", cwd=code).json["findings"]
    return [(one["level"], one["kind"], one["path"].removeprefix("lore/"), one["line"]) for one in findings]


def lore_with(fields: str, text: str, number: int = 1) -> str:
    return f"---\nid: 01J00000000000000000000{number:03d}\ncategory: FACT\n{fields}---\n\n{text}\n"


def everything_in(folder: Path) -> dict[str, tuple[int, int]]:
    paths = [Path(top, name) for top, _, names in os.walk(folder) for name in names]
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths}


def test_a_clean_checkout_passes_and_nothing_is_written_into_it(code: Path) -> None:
    (code / "lore/.killed-writer.engram-tmp").write_text("left by a killed process", "utf-8")
    before = everything_in(code)
    assert ok("check", cwd=code).out == "2 files checked: all is well.\n"
    assert ok("check", "--since", "HEAD", "--strict", cwd=code).out == "0 files checked: all is well.\n"
    assert everything_in(code) == before


def test_only_changes_since_the_base_are_checked_committed_or_not(code: Path) -> None:
    put(code, "old.md", lore_with("", "An old note about [[nothing]]."))
    put(code, "bad.md", "---\nid: bad\n---\nText.\n", commit=False)
    assert found(code, "--since", "HEAD") == [("error", "file", "bad.md", 2)]
    assert {one[2] for one in found(code, "--since", "HEAD~1")} == {"bad.md", "old.md"}
    assert {one[2] for one in found(code, "lore/old.md")} == {"old.md"}
    assert found(code, "lore/old.md", "--since", "HEAD") == []


def test_before_the_first_commit_everything_is_new(code: Path) -> None:
    git(code, "checkout", "-q", "--orphan", "fresh")
    assert cli("check", "--since", "HEAD", cwd=code).out == "2 files checked: all is well.\n"


def test_commits_of_the_other_branch_are_not_checked(code: Path) -> None:
    git(code, "checkout", "-qb", "mine")
    git(code, "checkout", "-q", "-")
    put(code, "bad.md", "---\nid: bad\n---\nText.\n")
    there = git(code, "rev-parse", "HEAD")
    git(code, "checkout", "-q", "mine")
    put(code, "good.md", lore_with("", "The gateway answers 429 above ten calls a second."))
    assert cli("check", "--since", there, cwd=code).out == "1 file checked: all is well.\n"


def test_secrets_are_found_even_if_a_later_commit_removed_them(code: Path) -> None:
    put(code, "key.md", lore_with("", f"First line.\nThe token is {SECRET}."))
    told = cli("check", "--since", "HEAD~1", cwd=code)
    assert told.code == 1
    assert "lore/key.md:7: this looks like a secret" in told.out
    assert SECRET not in told.out
    put(code, "key.md", lore_with("", "First line."))
    assert found(code, "--since", "HEAD~2") == [("error", "secret", "key.md", 0)]
    assert found(code, "--since", "HEAD~1") == []


def test_duplicates_are_warnings_which_fail_only_when_strict(code: Path) -> None:
    put(code, "twin.md", lore_with("", TWIN.replace("every", "each")))
    assert found(code, "--since", "HEAD~1") == [("warning", "duplicate", "twin.md", 0)]
    assert cli("check", "--since", "HEAD~1", cwd=code).code == 0
    assert cli("check", "--since", "HEAD~1", "--strict", cwd=code).code == 1


def test_broken_and_ambiguous_links_are_reported(code: Path) -> None:
    named = "relations:\n  - kind: see_also\n    id: 01J00000000000000000000009\n"
    text = (
        "See [[Tide tables are printed in local time, without daylight saving.]], [[nowhere]] and [[two]],\n"
        "[here](a/two.md), [gone](gone.md), [out](../../../etc/passwd), [web](https://example.org/x) and `[[code]]`."
    )
    put(code, "links.md", lore_with(named, text), commit=False)
    put(code, "a/two.md", lore_with("", "Deploys of the gateway wait for a green build.", 2), commit=False)
    put(code, "b/two.md", lore_with("", "Printers on the third floor jam in summer.", 3))
    told = cli("check", "lore/links.md", cwd=code).out
    assert "links.md:6: broken link: no entry here has the id 01J00000000000000000000009 (see_also)" in told
    assert "links.md:9: broken link: nothing here is called [[nowhere]]" in told
    assert "links.md:9: ambiguous link: [[two]] may mean lore/a/two.md, lore/b/two.md" in told
    assert "links.md:10: broken link: there is no file gone.md" in told
    assert "links.md:10: broken link: ../../../etc/passwd leads out of the repository" in told
    assert told.count("broken link") == 4


def test_a_deleted_entry_breaks_the_relations_to_it(code: Path) -> None:
    put(code, "named.md", lore_with("", "Deploys of the gateway wait for a green build."))
    relation = "relations:\n  - kind: refines\n    id: 01J00000000000000000000001\n"
    put(code, "naming.md", lore_with(relation, "Printers on the third floor jam in summer.", 2))
    assert found(code) == []
    (code / "lore/named.md").unlink()
    assert found(code, "--since", "HEAD") == [("warning", "link", "naming.md", 6)]


def test_a_file_with_the_id_of_another_is_reported(code: Path) -> None:
    put(code, "m.md", lore_with("", "Deploys of the gateway wait for a green build."))
    for name in ("a.md", "z.md"):  # before and behind the one that was there first
        put(code, name, lore_with("", "Printers on the third floor jam in summer."), commit=False)
        assert [one[:3] for one in found(code, "--since", "HEAD")] == [("error", "file", name)]
        (code / "lore" / name).unlink()


def test_a_change_cannot_disable_its_own_check_through_the_settings(code: Path) -> None:
    config = code / ".engram.toml"
    config.write_text(config.read_text("utf-8") + f'\n[secrets]\nallow = ["{SECRET}"]\n', "utf-8")
    put(code, "key.md", lore_with("", f"The token is {SECRET}."))
    kinds = {one[1] for one in found(code, "--since", "HEAD~1")}
    assert kinds == {"settings", "secret"}
    git(code, "rm", "-q", "--cached", ".engram.toml")
    git(code, "commit", "-qm", "no store")
    assert [one[:3] for one in found(code, "--since", "HEAD")] == [("error", "settings", ".engram.toml")]
    config.write_text("[broken", "utf-8")
    git(code, "add", "-A")
    git(code, "commit", "-qm", "broken")
    config.write_text("", "utf-8")
    assert found(code, "--since", "HEAD") == []


def test_symlinks_are_reported_and_not_followed(code: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(f"The token is {SECRET}.", "utf-8")
    (code / "lore/link.md").symlink_to(outside)
    assert found(code, "--since", "HEAD") == [("error", "file", "link.md", 0)]


def test_the_existing_index_of_a_store_is_used(code: Path) -> None:
    ok("reindex", cwd=code)
    assert (code / ".git/engram/index").is_dir()
    put(code, "bad.md", "---\nid: bad\n---\nText.\n", commit=False)
    assert found(code, "--since", "HEAD") == [("error", "file", "bad.md", 2)]


def test_invalid_arguments_of_a_check_are_usage_errors(code: Path, tmp_path: Path) -> None:
    assert cli("check", "nothing.md", cwd=code).code == 2
    assert cli("check", "--annotations", "github", "--json", cwd=code).code == 2
    assert cli("check", "--annotations", "other", cwd=code).code == 2
    assert cli("check", "--since", "no-such-branch", cwd=code).code == 3
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / ".engram.toml").write_text("", "utf-8")
    assert cli("check", "--since", "HEAD", cwd=plain).code == 2
    assert ok("check", cwd=plain).out == "0 files checked: all is well.\n"


def test_only_annotations_are_workflow_commands(code: Path) -> None:
    evil = "[[x]] ::error file=a.md,line=1::forged\n::stop-commands::x\n##[error]forged [[\x1b[31m%0A::error::y]]"
    put(code, "a,b:c%.md", lore_with("", f"{evil}\n\nSee [[##[error]z]]."), commit=False)
    lines = cli("check", "--since", "HEAD", "--annotations", "github", cwd=code).out.splitlines()
    assert lines[0].startswith(
        "::warning file=lore/a%2Cb%3Ac%25.md,line=6,title=engram%3A link::broken link: "
    )
    assert lines[-1].startswith("1 file checked: ")
    assert all(line.startswith("::warning file=lore/a%2Cb%3Ac%25.md,line=") for line in lines[:-1])
    assert not any("\x1b" in line or "##[" in line for line in lines)
    put(code, "##[error]x.md", "no fields", commit=False)
    assert "##[" not in cli("check", "--annotations", "github", cwd=code).out + cli("check", cwd=code).out
    told = cli("check", "lore/##[error]x.md", "--json", cwd=code)
    assert "##[" not in told.out
    assert [one["path"] for one in told.json["findings"]] == ["lore/##[error]x.md"]


@settings(max_examples=30)
@given(st.text(), st.text(min_size=1), st.integers(0, 9), st.text())
def test_no_text_escapes_from_an_annotation(path_end: str, path: str, line: int, message: str) -> None:
    said = annotation("error", path + path_end, line, "engram: file", message)
    assert len(said.splitlines()) == 1
    assert "##" not in said
    head, _, data = said.removeprefix("::").partition("::")
    properties = head.removeprefix("error ").split(",")
    assert [one.partition("=")[0] for one in properties] == ["file", *(["line"] if line else []), "title"]
    assert data.replace("%25", "%").replace("%0D", "\r").replace("%0A", "\n") == log_line(message)
    assert ":" not in head


def test_a_comment_fits_the_limit_of_hosts_and_has_the_errors(code: Path) -> None:
    for number in range(700):
        put(code, f"plain-{number:03}.md", "Words without fields.\n", commit=False)
    put(code, "bad.md", "---\nid: bad\n---\nText.\n")
    total = len(found(code, "--since", "HEAD~1"))
    lines = cli("check", "--since", "HEAD~1", "--markdown", cwd=code).out.splitlines()
    assert sum(map(len, lines)) + len(lines) < 60_300
    assert lines[2].startswith("- **error** file `lore/bad.md")
    listed = sum(line.startswith("- **") for line in lines)
    assert lines[-1] == f"- … and {total - listed:,} more: `engram check` lists them all."
