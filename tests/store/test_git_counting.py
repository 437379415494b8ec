"""A pull checks only the sizes of changed files, and reads each merged entry once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from effort import sampled
from sync_kit import Clones

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.merge_file import merge_files
from engram.adapters.git.read import differences
from engram.adapters.git.run import process, runner
from engram.domain.entry.categories import Categories
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def both_changed(clones: Clones) -> None:
    """Two clones that have each edited the same entry, the second of which has synced."""
    lore = clones.record("a", "Retry with jitter.\n\nElse all come back at once.")
    clones.settle()
    for name in "ab":
        clones[name].edit(lore.id, Edit(add_tags=(name,)))
    clones["b"].sync()


def asked_of_git(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The listings that a sync of the first clone asks git for."""
    asked: list[tuple[str, ...]] = []
    start = process.start

    def noted(folder: str, args: tuple[str, ...], *rest: object, **more: object) -> object:
        asked.append(args)
        return start(folder, args, *rest, **more)  # type: ignore[arg-type, call-overload]

    monkeypatch.setattr(process, "start", noted)
    done = clones["a"].sync()
    assert (done.merged, done.errors) == (1, ())
    return [args for args in asked if args[0] == "ls-tree" and "-r" in args]


def test_a_pull_lists_no_unchanged_file(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    both_changed(clones)
    assert bool(asked_of_git(clones, monkeypatch)) is not runner.can_limit_memory()


@sampled("limit", ["SAFE_FILE_COUNT", "MAX_PATH_BYTES"])
def test_a_pull_lists_every_file_if_the_differences_may_exceed_a_limit(
    clones: Clones, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Very many files, folders too deep."""
    both_changed(clones)
    monkeypatch.setattr(differences, limit, 1)
    if limit == "MAX_PATH_BYTES":
        with pytest.raises(Exception, match="nested too deeply"):
            asked_of_git(clones, monkeypatch)
    else:
        assert asked_of_git(clones, monkeypatch)


def test_merged_entries_are_parsed_only_once_during_a_sync(clones: Clones) -> None:
    recorded = clones.record("a", "Retry with jitter.\n\nElse all come back at once.")
    categories = clones["a"].store.categories
    lore = clones["a"].get(recorded.id).lore
    base, ours, theirs = (
        codec.write_new(one, categories)
        for one in (lore, lore._replace(tags=("queues",)), lore._replace(entities=("broker",)))
    )
    parsed = codec.ParsedFiles()
    merged = merge_files(base, ours, theirs, "lore/x.md", categories, lore.updated_at, parsed=parsed)
    assert merged.content is not None
    for raw in (base, ours, theirs, merged.content):
        found = parsed.find(raw, categories)
        assert found is not None
        assert codec.read(raw, "lore/x.md", categories, lore.updated_at, parsed).lore is found
        assert codec.read(raw, "lore/x.md", Categories(), lore.updated_at, parsed).lore is not found
        assert codec.read(raw, "lore/x.md", categories, lore.updated_at).lore == found
    clones["a"].sync()
    assert clones["a"].store.parsed is None
