"""The check before a push: all file versions and commits that the remote does not have.

Mutants that make no difference: how many files are read at once, give or take one; a look at the remote's text where nothing
was found, or where there is no remote.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, git
from storekit import open_test_store

from engram.adapters.git.read.differences import differences
from engram.domain.errors import SecretFoundError
from engram.usecases.admission import outgoing_secrets
from engram.usecases.admission.outgoing_secrets import (
    check_outgoing,
    new_secrets,
    secrets_of_commits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.usecases.store.store import Store

OTHER = SECRET[:4] + SECRET[4:][::-1]
LARGEST = 1_048_576
LINE = f"The token is {SECRET}\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_test_store(tmp_path / "store") as engram:
        yield engram.store


def commit(store: Store, **files: str | None) -> str:
    """A person's commit of files (`a__b` for `a/b.md`; None: deleted), past every check of Engram's."""
    root = Path(store.places.root)
    for name, content in files.items():
        path = root / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
    git(root, "add", "-A", "-f", ".")
    git(root, "commit", "-q", "-m", "by hand")
    return git(root, "rev-parse", "HEAD")


def test_clean_commits_are_searched_and_returned_parents_first(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    first = commit(store, lore__a="Two.\n")
    second = commit(store, lore__b="Three.\n")
    told: list[tuple[int, int]] = []
    assert check_outgoing(store, base, second, lambda done, total: told.append((done, total))) == [
        first,
        second,
    ]
    assert told == [(0, 2)]
    assert check_outgoing(store, second, second) == []


def test_a_secret_that_is_only_in_history_is_refused_by_its_place_and_not_shown(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    commit(store, lore__b=f"First.\n\n{LINE}And {OTHER}\n")
    tip = commit(store, lore__b=None)
    with pytest.raises(SecretFoundError) as refused:
        check_outgoing(store, base, tip)
    assert refused.value.message.startswith("lore/b.md holds what looks like a secret (github-token, line 3)")
    assert len(refused.value.findings) == 2
    assert SECRET not in str(refused.value.as_dict())


def test_an_empty_remote_gets_no_secret_either(store: Store) -> None:
    tip = commit(store, lore__a=LINE)
    with pytest.raises(SecretFoundError):
        check_outgoing(store, None, tip)


def test_a_secret_in_a_commit_message_is_refused_with_a_hint_how_to_undo_the_commit(
    store: Store,
) -> None:
    base = commit(store, lore__a="One.\n")
    root = Path(store.places.root)
    git(root, "commit", "-q", "--allow-empty", "-m", f"Try {SECRET}")
    bad = git(root, "rev-parse", "HEAD")
    tip = commit(store, lore__b="Two.\n")
    with pytest.raises(SecretFoundError) as refused:
        check_outgoing(store, base, tip)
    assert refused.value.message.startswith(f"The message of commit {bad[:10]} holds")
    assert f"git reset {bad[:10]}~1" in refused.value.hint


def test_the_hint_is_a_reset_before_the_commit_unless_it_is_the_first(
    store: Store,
) -> None:
    root = Path(store.places.root)
    git(root, "checkout", "-q", "--orphan", "alone")
    git(root, "rm", "-q", "-rf", "--cached", ".")
    tip = commit(store, lore__a=LINE)
    with pytest.raises(SecretFoundError) as refused:
        check_outgoing(store, None, tip)
    assert "write the commit that holds it anew without it. For a false positive" in refused.value.hint
    base = commit(store, lore__a="One.\n")
    bad = commit(store, lore__a=LINE)
    tip = commit(store, lore__b="Two.\n")
    with pytest.raises(SecretFoundError) as refused:
        check_outgoing(store, base, tip)
    assert f"git reset {bad[:10]}~1" in refused.value.hint


def test_known_differences_are_used_for_a_single_commit_only(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    commit(store, lore__b=LINE)
    tip = commit(store, lore__b=None, lore__c="Three.\n")
    between = differences(store.repository, base, tip)
    with pytest.raises(SecretFoundError, match=r"^lore/b\.md"):
        check_outgoing(store, base, tip, changed=between)


def test_a_secret_in_the_same_file_of_the_remote_is_ignored(store: Store) -> None:
    base = commit(store, lore__a=LINE)
    tip = commit(store, lore__a=LINE + "And more.\n")
    assert check_outgoing(store, base, tip) == [tip]
    tip = commit(store, lore__a=LINE + f"And {OTHER}\n")
    with pytest.raises(SecretFoundError):
        check_outgoing(store, base, tip)


def test_a_secret_in_another_file_of_the_remote_is_refused(store: Store) -> None:
    base = commit(store, lore__a=LINE)
    tip = commit(store, lore__b="More.\n" + LINE)
    with pytest.raises(SecretFoundError, match=r"^lore/b\.md"):
        check_outgoing(store, base, tip)


def test_a_secret_in_the_new_name_of_an_unchanged_file_is_refused(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    moved = commit(store, **{"lore__a": None, f"lore__{SECRET}": "One.\n"})
    tip = commit(store, lore__b="Two.\n")
    with pytest.raises(SecretFoundError, match=r"^The name of a file in a commit") as refused:
        check_outgoing(store, base, tip)
    assert f"git reset {moved[:10]}~1" in refused.value.hint


def test_a_secret_in_a_file_name_of_the_remote_is_ignored(store: Store) -> None:
    base = commit(store, **{f"lore__{SECRET}": "One.\n"})
    tip = commit(store, **{f"lore__{SECRET}": "Two.\n"})
    assert check_outgoing(store, base, tip) == [tip]


def test_every_batch_of_files_is_searched(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing_secrets, "AT_ONCE", 2)
    base = commit(store, lore__a="One.\n")
    tip = commit(store, **{f"lore__{number}": f"Number {number}.\n" for number in range(5)})
    told: list[tuple[int, int]] = []
    check_outgoing(store, base, tip, lambda done, total: told.append((done, total)))
    assert told == [(0, 5), (2, 5), (4, 5)]
    for number in range(5):
        git(Path(store.places.root), "reset", "-q", "--hard", tip)
        bad = commit(store, **{f"lore__{number}": f"{number} {LINE}"})
        with pytest.raises(SecretFoundError, match=rf"^lore/{number}\.md"):
            check_outgoing(store, base, bad)
        assert [path for path, _ in secrets_of_commits(store, base, bad, "lore")] == [f"lore/{number}.md"]


def test_an_exception_of_the_progress_report_ends_the_search(store: Store) -> None:
    base, tip = commit(store, lore__a="One.\n"), commit(store, lore__a=LINE)

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_outgoing(store, base, tip, stop)


def test_files_larger_than_a_mebibyte_are_not_searched(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    longest = LINE + "x " * ((LARGEST - len(LINE)) // 2)
    longest += "\n" * (LARGEST - len(longest))
    tip = commit(store, lore__b=longest + "\n")
    assert check_outgoing(store, base, tip) == [tip]
    assert list(secrets_of_commits(store, base, tip, "lore")) == []
    assert check_outgoing(store, tip, tip, made={"made": {"lore/c.md": (longest + "\n").encode()}}) == []
    tip = commit(store, lore__b=longest)
    with pytest.raises(SecretFoundError):
        check_outgoing(store, base, tip)
    assert [path for path, _ in secrets_of_commits(store, base, tip, "lore")] == ["lore/b.md"]
    with pytest.raises(SecretFoundError):
        check_outgoing(store, base, base, made={"made": {"lore/c.md": longest.encode()}})


def test_clean_commits_are_skipped_and_only_the_additions_of_own_merges_searched(
    store: Store,
) -> None:
    base = commit(store, lore__a="One.\n")
    bad = commit(store, lore__a=LINE)
    tip = commit(store, lore__a="Two.\n")
    assert check_outgoing(store, base, tip, clean=[bad]) == [tip]
    assert check_outgoing(store, base, tip, made={bad: {"lore/a.md": b"Clean.\n"}}) == [tip]
    with pytest.raises(SecretFoundError, match=r"^lore/z\.md"):
        check_outgoing(store, base, tip, made={bad: {"lore/a.md": b"Clean.\n", "lore/z.md": LINE.encode()}})
    with pytest.raises(SecretFoundError):
        check_outgoing(store, base, tip, clean=[tip])


def test_secrets_of_commits_are_limited_to_the_folder(store: Store) -> None:
    base = commit(store, lore__a="One.\n")
    tip = commit(store, lore__b=LINE, lore__sub__c=LINE + "\n", lorelei__d=LINE + " ", e=LINE + "  ")
    found = dict(secrets_of_commits(store, base, tip, "lore"))
    assert sorted(found) == ["lore/b.md", "lore/sub/c.md"]
    assert [finding.rule for finding in found["lore/b.md"]] == ["github-token"]


@pytest.mark.parametrize("field", ["id", "source_id", "sources", "merged_from"])
def test_ids_in_id_fields_are_no_secrets_but_elsewhere_they_are(store: Store, field: str) -> None:
    base = commit(store, lore__a="One.\n")

    def found(text: str) -> int:
        return len(new_secrets(store, base, "lore/b.md", text.encode()))

    assert found(f"---\n{field}: {SECRET}\n---\nText.\n") == 0
    assert found(f"---\ncategory: FACT\n{field}: {SECRET}\n---\nText.\n") == 0
    assert found(f"---\ncategory: {SECRET}\n{field}: x\n---\nText.\n") == 1
    assert found(f"---\ncategory: FACT\n---\n{field}: {SECRET}\n") == 1
    assert found(f"{field}: {SECRET}\n") == 1
    assert found(f"Text.\n{field}: {SECRET}\n") == 1
