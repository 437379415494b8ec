"""The catalog returns stored entries, and detects changes by others in its file.

Mutants that make no difference: a catalog or an index that is closed when nothing refers to it any more instead of
before; how long a lock of SQLite is waited for, and how much of CURRENT is read, give or take a little; the number of the
format, the mark of missing vectors and the format in which `marshal` packs; the journal of a catalog in the making; the
first letter of a name, which is no slash; `None` for `False`.
"""

from __future__ import annotations

import contextlib
import marshal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engram.adapters.index.catalog import (
    COLUMNS,
    WAITING,
    Catalog,
    Entry,
    Known,
    Problem,
    Text,
    Waiting,
    count_waiting,
    set_vector_checks,
    texts_without_vectors,
)
from engram.adapters.index.catalog_check import find_damage
from engram.adapters.index.row_details import Link, put_tokens
from engram.domain.entry.categories import SEMANTIC
from engram.domain.entry.confidence import Tally, Vote
from engram.domain.entry.lore import Lore, Relation, words_mark
from engram.domain.entry.note_markup import NoteMarkup

NOW = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)


def entry(number: int, *tags: str) -> Entry:
    lore = Lore(
        f"01J8ZC6W6NN2KC71CQ20QK{number:04d}", f"# Note {number}\n\nText — “é”.", "FACT", NOW, NOW, tags=tags
    )
    path = f"lore/{number}.md"
    return Entry(path, (1, 2, 3), "digest", 9, lore, row=number, text_digest="text", vector_check=number)


def tags_of(catalog: Catalog) -> list[tuple[str, str]]:
    return catalog.connection.execute("SELECT path, tag FROM tags ORDER BY 1, 2").fetchall()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(str(tmp_path / "catalog.db"), create=True)


@pytest.mark.parametrize("new", [True, False])
def test_stored_entries_are_read_back_unchanged(catalog: Catalog, new: bool) -> None:
    problem = Entry(
        "lore/bad.md", (1, 2, 3), "digest", 9, problem=Problem("lore/bad.md", 3, "no id", "add it")
    )
    catalog.put([entry(1, "b", "a", "b"), entry(2, "a"), entry(3), problem], new=new)
    [hit] = catalog.hits([1])
    assert (hit.title, hit.created_at, hit.vector_check) == ("Note 1", NOW.timestamp(), 1)
    assert tags_of(catalog) == [("lore/1.md", "a"), ("lore/1.md", "b"), ("lore/2.md", "a")]
    assert catalog.problems() == [Problem("lore/bad.md", 3, "no id", "add it")]
    assert find_damage(catalog.connection) == []


def test_tags_follow_their_file_when_its_row_changes_or_it_is_removed(catalog: Catalog) -> None:
    catalog.put([entry(1, "a", "b"), entry(2, "a")], new=True)
    catalog.put([entry(1, "c")])
    catalog.put([entry(2, "d")._replace(row=7)])
    assert tags_of(catalog) == [("lore/1.md", "c"), ("lore/2.md", "d")]
    assert find_damage(catalog.connection) == []
    catalog.remove(["lore/1.md", "lore/2.md"])
    assert catalog.connection.execute("SELECT count(*) FROM row_tags").fetchone() == (0,)


def test_an_entry_has_the_tags_of_its_fields_and_of_its_text(catalog: Catalog) -> None:
    catalog.put([entry(1, "a")._replace(markup=NoteMarkup(tags=("b", "a"))), problem("lore/bad.md")])
    assert tags_of(catalog) == [("lore/1.md", "a"), ("lore/1.md", "b")]
    assert find_damage(catalog.connection) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE files SET title = 'another' WHERE row = 1",
        "UPDATE files SET created_at = created_at + 1 WHERE row = 1",
        "UPDATE files SET confidence = NULL WHERE row = 1",
        "UPDATE files SET error = 'none of its own' WHERE row = 1",
        "UPDATE files SET conflicts = 1 WHERE row = 1",
        "UPDATE files SET path = 'lore/11.md' WHERE row = 1",
        "DELETE FROM row_tags WHERE row = 1",
        "INSERT INTO row_tags VALUES (1, 'more')",
        "INSERT INTO row_tags VALUES (9, 'of nobody')",
    ],
)
def test_a_change_by_another_connection_is_detected(catalog: Catalog, change: str) -> None:
    catalog.put([entry(1, "a"), entry(2, "b")])
    catalog.touch([(5, 6, 7, 8, "lore/1.md")])  # seen again: no damage
    assert find_damage(catalog.connection) == []
    catalog.connection.execute(change)
    [damage] = find_damage(catalog.connection)
    assert "1.md" in damage or "row 9" in damage


def test_a_change_of_any_column_about_content_is_detected(
    catalog: Catalog,
) -> None:
    catalog.put([full()])
    silent = set()
    for column in COLUMNS:
        catalog.connection.execute("BEGIN")
        catalog.connection.execute(f"UPDATE files SET {column} = '12345'")
        if not find_damage(catalog.connection):
            silent.add(column)
        catalog.connection.execute("ROLLBACK")
    assert silent == {"mtime_ns", "size", "inode", "digest", "seen_ns"}


def test_a_missing_line_in_an_sqlite_index_is_damage(catalog: Catalog) -> None:
    catalog.put([entry(1)])
    catalog.add_indexes()
    catalog.connection.execute("PRAGMA writable_schema = ON")
    catalog.connection.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'error IS NOT NULL', 'error IS NULL') WHERE name = 'files_error'"
    )
    catalog.close()
    assert find_damage(Catalog(catalog.path).connection) == ["row 1 missing from index files_error"]


def test_a_catalog_can_be_read_in_every_thread(catalog: Catalog) -> None:
    catalog.put([entry(1)])
    with ThreadPoolExecutor() as threads:
        assert threads.submit(catalog.count).result() == 1


def test_only_a_catalog_in_use_is_synced_to_disk(tmp_path: Path) -> None:
    made = Catalog(str(tmp_path / "catalog.db"), create=True)
    used = Catalog(made.path)
    found = [one.connection.execute("PRAGMA synchronous").fetchone() for one in (made, used)]
    assert found == [(0,), (1,)]


def full() -> Entry:
    """Return an entry with a value in every field."""
    some = entry(4, "a")
    assert some.lore is not None
    lore = some.lore._replace(
        type="episodic",
        status="archived",
        prior=900,
        votes={"CLONE001": Vote(0, 50, 3)},
        last_validated=NOW + timedelta(days=1),
        updated_at=NOW + timedelta(days=2),
        expires_at=NOW + timedelta(days=3),
        agent="bot",
        author="Ada Lovelace",
        source_id="SOURCE",
        importance=1,
        pinned=True,
        files=("a.py", "b.py"),
        when=("command: git push", "tool: WebFetch"),
    )
    return some._replace(lore=lore, adopted=False)


def test_a_line_has_every_field_of_its_entry(catalog: Catalog) -> None:
    catalog.put([full()])
    [hit] = catalog.hits([4])
    assert hit._asdict() == {
        "row": 4,
        "path": "lore/4.md",
        "id": "01J8ZC6W6NN2KC71CQ20QK0004",
        "title": "Note 4",
        "category": "FACT",
        "type": "episodic",
        "status": "archived",
        "confidence": 850,
        "validation_count": 3,
        "last_validated": NOW.timestamp() + 86_400,
        "created_at": NOW.timestamp(),
        "updated_at": NOW.timestamp() + 2 * 86_400,
        "expires_at": NOW.timestamp() + 3 * 86_400,
        "agent": "bot",
        "author": "Ada Lovelace",
        "importance": 1.0,
        "pinned": 1,
        "length": 21,
        "files": "a.py\nb.py",
        "mtime_ns": 1,
        "size": 2,
        "inode": 3,
        "vector_check": 4,
        "text_digest": "text",
        "source_id": "SOURCE",
        "full": None,
        "anchor": None,
        "believed": None,
        "modest": None,
        "conflicts": 0,
        "when": "command: git push\ntool: WebFetch",
    }
    catalog.put([entry(5)])
    [hit] = catalog.hits([5])
    assert (hit.last_validated, hit.expires_at, hit.importance, hit.pinned) == (None, None, None, 0)
    assert catalog.select("pinned = ?", [1]) == catalog.hits([4])
    assert catalog.select("1", (), "ORDER BY row DESC") == [hit, *catalog.hits([4])]


def problem(path: str) -> Entry:
    return Entry(path, (1, 2, 3), "bytes", 9, problem=Problem(path, 3, "no id", "add it"))


def test_the_known_state_of_a_file_is_its_stamp_and_content(catalog: Catalog) -> None:
    plain = Entry("lore/2.md", (1, 2, 3), "digest", 9, entry(2).lore, row=2)  # as in an index without vectors
    odd = Entry("lore/odd", (0, 0, 0), "a link", 7)
    catalog.put([full(), entry(1), plain, problem("lore/bad.md"), odd])
    expected = {
        "lore/1.md": Known((1, 2, 3), "digest", 9, 1, "text", 1, True),
        "lore/2.md": Known((1, 2, 3), "digest", 9, 2, "", 0, True),
        "lore/4.md": Known((1, 2, 3), "digest", 9, 4, "text", 4, False),
        "lore/bad.md": Known((1, 2, 3), "bytes", 9, None, "", 0, True),
        "lore/odd": Known((0, 0, 0), "a link", 7, None, "", 0, True),
    }
    assert catalog.known() == expected
    assert catalog.problems() == [
        Problem("lore/bad.md", 3, "no id", "add it"),
        Problem("lore/odd", 0, "", ""),
    ]
    assert catalog.known(["lore/4.md", "lore/none.md"]) == {"lore/4.md": expected["lore/4.md"]}
    assert catalog.known([]) == {}
    catalog.touch([(5, 6, 7, 8, "lore/1.md")])
    assert catalog.known(["lore/1.md"]) == {"lore/1.md": Known((5, 6, 7), "digest", 8, 1, "text", 1, True)}


def test_a_file_seen_soon_after_its_mtime_has_size_minus_one(catalog: Catalog) -> None:
    catalog.put([entry(1)])  # of the time 1, seen at 9
    assert catalog.stamps(8) == [("lore/1.md", 1, 2, 3)]
    assert catalog.stamps(9) == [("lore/1.md", 1, -1, 3)]
    assert catalog.stamps(8, ["lore/1.md", "lore/2.md"]) == [("lore/1.md", 1, 2, 3)]
    assert catalog.stamps(8, []) == []


def test_the_children_of_a_folder_are_the_files_directly_in_it(catalog: Catalog) -> None:
    paths = ["lore/a/1.md", "lore/a/b/2.md", "lore/a0/3.md", "lore/a.md", "lore/a-b/4.md", "lore/z.md"]
    catalog.put([problem(path) for path in paths])
    assert catalog.children("lore/a") == ["lore/a/1.md"]
    assert sorted(catalog.children("lore")) == ["lore/a.md", "lore/z.md"]


def test_the_children_of_the_root_are_the_files_beside_its_folders(catalog: Catalog) -> None:
    catalog.put([problem(path) for path in ("a.md", "lore/1.md", "é.md")])
    assert sorted(catalog.children("")) == ["a.md", "é.md"]


def test_folders_are_stored_with_their_times_until_removed(catalog: Catalog) -> None:
    catalog.set_folders({"lore": 1, "lore/a": 2}, [])
    catalog.set_folders({"lore": 3}, ["lore/a", "lore/b"])
    assert catalog.folders() == {"lore": 3}


def test_metadata_of_the_index_are_stored_and_replaced(catalog: Catalog) -> None:
    catalog.set_meta({"head": "1", "dead": "0"})
    catalog.set_meta({"head": "2"})
    assert catalog.meta() == {"head": "2", "dead": "0"}


def twins() -> list[Entry]:
    """Two files with the same id, and a third with its own."""
    one, other = entry(1, "a"), entry(2, "a", "b")
    assert one.lore is not None
    assert other.lore is not None
    return [one, other._replace(lore=other.lore._replace(id=one.lore.id)), entry(3, "b")]


def test_the_first_path_has_a_duplicate_id_and_the_others_are_problems(catalog: Catalog) -> None:
    catalog.put(twins())
    [lore_id] = catalog.duplicate_ids()
    assert catalog.count() == 3
    catalog.shadow_duplicates([lore_id])
    assert sorted(hit.row for hit in catalog.hits([1, 2, 3])) == [1, 3]
    assert sorted(hit.row for hit in catalog.select("1")) == sorted(catalog.select_rows("1", ())) == [1, 3]
    assert (catalog.count(), catalog.count("row = ?", [2]), catalog.count_rows()) == (2, 0, 3)
    assert catalog.problems() == [
        Problem(
            "lore/2.md", 0, f"another file already has the id {lore_id}", "Delete one, or remove its id line."
        )
    ]
    assert [line.row for line in catalog.texts(["active"])] == [1, 3]
    assert find_damage(catalog.connection) == []
    catalog.remove(["lore/1.md"])
    assert catalog.duplicate_ids() == []
    catalog.shadow_duplicates([lore_id])
    assert sorted(hit.row for hit in catalog.hits([2, 3])) == [2, 3]


def test_ids_are_found_by_their_files_and_files_by_their_ids(catalog: Catalog) -> None:
    catalog.put([entry(1), entry(2), problem("lore/bad.md")])
    first, second = (f"01J8ZC6W6NN2KC71CQ20QK{number:04d}" for number in (1, 2))
    assert catalog.ids_of(["lore/1.md", "lore/bad.md", "lore/none.md"]) == {first}
    assert catalog.present([first, second, "another"]) == {first, second}
    catalog.remove(["lore/1.md"])
    assert catalog.present([first, second]) == {second}


def test_entries_are_found_by_words_relations_and_folded_entries(catalog: Catalog) -> None:
    one, two, three = (some.lore for some in (entry(1), entry(2), entry(3)))
    assert one is not None
    assert two is not None
    assert three is not None
    one = one._replace(content="Other words.", merged_from=("OLD", "BACK"))
    two = two._replace(merged_from=("OLD", "GONE", three.id), relations=(Relation("supersedes", one.id),))
    three = three._replace(content=two.content)
    changed = [entry(at)._replace(lore=some) for at, some in enumerate((one, two, three), 1)]
    catalog.put([*changed, entry(4)._replace(lore=three._replace(id="BACK"))])
    assert catalog.paths_with_mark(words_mark(one.content)) == ["lore/1.md"]
    assert catalog.paths_with_mark(words_mark(two.content)) == ["lore/2.md", "lore/3.md", "lore/4.md"]
    assert catalog.paths_relating("supersedes", one.id) == ["lore/2.md"]
    assert catalog.paths_relating("refines", one.id) == catalog.paths_relating("supersedes", two.id) == []
    assert catalog.owners() == {"OLD": one.id, three.id: three.id, "BACK": "BACK"}


def test_texts_are_measured_and_counted(catalog: Catalog) -> None:
    assert (catalog.mean_length(), catalog.lengths_beyond(0), catalog.count_rows()) == (0.0, {}, 0)
    some = entry(2).lore
    assert some is not None
    catalog.put([entry(1), entry(2)._replace(lore=some._replace(content="x" * 99)), problem("lore/bad.md")])
    assert (catalog.mean_length(), catalog.lengths_beyond(21)) == (60.0, {2: 99})
    assert [catalog.count_rows(before) for before in (1, 2, 3)] == [0, 1, 2]


def test_a_snapshot_reads_one_consistent_state(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), create=True)
    catalog.share()
    other = Catalog(catalog.path)
    with contextlib.suppress(KeyError), catalog.snapshot():
        assert catalog.count() == 0
        other.put([entry(1)])
        with catalog.snapshot():
            assert catalog.count() == 0
        assert catalog.count() == 0
        raise KeyError
    assert not catalog.connection.in_transaction
    assert catalog.count() == 1


def test_entries_that_meet_a_condition_are_counted_and_packed(catalog: Catalog) -> None:
    other = entry(3, "b")
    assert other.lore is not None
    other = other._replace(lore=other.lore._replace(category="SKILL", status="pending"))
    catalog.put([entry(2, "a", "b"), entry(1, "a"), other, entry(4, "b"), problem("lore/bad.md")])
    assert catalog.count_by("category") == {"FACT": 3, "SKILL": 1}
    assert list(catalog.count_by("status").items()) == [("active", 3), ("pending", 1)]
    assert list(catalog.count_tags().items()) == [("b", 3), ("a", 2)]
    assert catalog.select_rows("category = ?", ["SKILL"]) == [3]
    assert catalog.count("category = ?", ["FACT"]) == 3
    ids, packed = catalog.select_packed(["row", "title"], "row < ?", [3], "ORDER BY row")
    assert [one[-1] for one in ids] == ["1", "2"]
    assert [marshal.loads(line) for line in packed] == [(1, "Note 1"), (2, "Note 2")]
    assert catalog.texts(["pending"]) == [
        Text("01J8ZC6W6NN2KC71CQ20QK0003", "lore/3.md", "SKILL", 3, "digest", "text")
    ]
    assert [line.row for line in catalog.texts(["active", "pending"])] == [1, 2, 3, 4]
    assert sorted(catalog.vector_checks()) == [(n, n, f"lore/{n}.md") for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("count", [499, 500, 501, 1001])
def test_any_number_of_lines_can_be_requested(catalog: Catalog, count: int) -> None:
    catalog.put([entry(number) for number in range(count + 1)], new=True)
    assert sorted(hit.row for hit in catalog.hits([*range(count)])) == [*range(count)]
    assert len(catalog.known([f"lore/{number}.md" for number in range(count)])) == count


def test_the_sum_of_lines_changes_with_files_but_not_with_mere_checks(catalog: Catalog) -> None:
    catalog.put([entry(1, "a"), entry(2)])
    sums = [catalog.sum_of_lines()]
    catalog.touch([(1, 2, 99, 99, "lore/1.md")])
    assert catalog.sum_of_lines() == sums[0]
    for change in ([entry(1, "b"), entry(2)], [entry(1), entry(2)], [full()], [entry(4)]):
        catalog.put(change)
        sums.append(catalog.sum_of_lines())
    catalog.touch([(2, 2, 3, 9, "lore/1.md")])
    sums.append(catalog.sum_of_lines())
    catalog.touch([(2, 9, 3, 9, "lore/1.md")])
    sums.append(catalog.sum_of_lines())
    catalog.remove(["lore/1.md"])
    sums.append(catalog.sum_of_lines())
    assert len(set(sums)) == len(sums)


def test_two_connections_see_each_others_changes(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), create=True)
    catalog.share()
    assert catalog.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    catalog.put([entry(1)])
    for _ in range(2):
        catalog.add_indexes()
    names = {
        name
        for (name,) in catalog.connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE '% INDEX %'")
    }
    assert names >= {"files_row", "files_id", "files_created", "row_tags_tag", "row_relations_id"}
    other = Catalog(catalog.path)
    version = other.version()
    assert other.hits([1]) == catalog.hits([1])
    assert other.version() == version
    catalog.put([entry(2)])
    assert other.version() != version
    assert len(other.hits([1, 2])) == 2
    for one in (catalog, other):
        one.close()
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.count()


def judged(number: int, full: int, anchor: int, kind: str = SEMANTIC) -> Entry:
    """An entry whose judgements add up to `full`, last judged on day `anchor`."""
    some = entry(number)
    assert some.lore is not None
    tally = Tally(full, full, anchor, 0, None, {}, believed=full, modest=full - 50)
    return some._replace(lore=some.lore._replace(type=kind, tally=tally))


def test_only_semantic_entries_decay_by_a_hundredth_each_month(catalog: Catalog) -> None:
    catalog.put([judged(1, 800, 100), judged(2, 5, 100), judged(3, 800, 100, "procedural")])
    before = [hit.confidence for hit in catalog.select("1", (), "ORDER BY row")]
    assert before == [800, 5, 800]
    for day, faded in ((129, 800), (130, 790), (160, 780), (50, 800)):
        catalog.fade(day)
        found = [hit.confidence for hit in catalog.select("1", (), "ORDER BY row")]
        assert found == [faded, 0 if faded < 800 else 5, 800]
        assert find_damage(catalog.connection) == []


def test_believed_confidence_is_stored_only_where_it_differs(catalog: Catalog) -> None:
    catalog.put([judged(1, 800, 100)])
    [hit] = catalog.hits([1])
    assert (hit.full, hit.anchor, hit.believed, hit.modest) == (800, 100, None, 750)


def test_links_between_entries_are_found_from_both_ends(catalog: Catalog) -> None:
    one, two, three = entry(1), entry(2), entry(3)
    assert one.lore is not None
    assert two.lore is not None
    assert three.lore is not None
    linking = one._replace(lore=one.lore._replace(relations=(Relation("see_also", two.lore.id),)))
    catalog.put([linking, two, three._replace(lore=three.lore._replace(merged_from=("OLD",)))])
    for row, other in ((1, two), (2, linking)):
        assert other.lore is not None
        assert catalog.linked([row]) == [Link(row, other.lore.id, other.row or 0, "active")]
    assert catalog.linked([3]) == []
    assert catalog.paths_of([two.lore.id, "OLD", "none"]) == {"lore/2.md", "lore/3.md"}
    put_tokens(catalog.connection, 1, [b"first", b"second"])
    assert catalog.tokens([2, 3]) == {2: b"second"}


def test_texts_wait_for_their_vectors_until_they_are_stored(catalog: Catalog) -> None:
    entries = [entry(number, "a")._replace(vector_check=WAITING) for number in (1, 2, 3)]
    assert entries[1].lore is not None
    named = entries[1].lore._replace(relations=(Relation("see_also", "ANOTHER"),), tags=("a", "b"))
    catalog.put([entries[0], entries[1]._replace(lore=named), entries[2], entry(4)])
    assert texts_without_vectors(catalog, 1, 1) == [Waiting(2, "lore/2.md", "text")]
    assert [text.row for text in texts_without_vectors(catalog, 0, 9)] == [1, 2, 3]
    assert count_waiting(catalog) == 3
    set_vector_checks(catalog, {2: 17, 3: 18})
    assert count_waiting(catalog) == 1
    assert [check for _, check, _ in sorted(catalog.vector_checks())] == [WAITING, 17, 18, 4]
    assert find_damage(catalog.connection) == []
