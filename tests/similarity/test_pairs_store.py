"""The pairs of whole stores: found by words and vectors, cached, updated for changed entries, rebuilt when damaged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock
from storekit import later_tick, open_test_store

from engram.domain.entry import ulid
from engram.domain.entry.lore import Lore, Relation
from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE, SAME
from engram.domain.similarity.pair_groups import group_pairs
from engram.usecases.recording import record as recording
from engram.usecases.similarity import pair_terms
from engram.usecases.similarity.pairs import find_pairs

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.similarity.pairs import Pair

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "benchmarks")]

import labelled_pairs  # noqa: E402
import scratch_store  # noqa: E402

PPRINT = "`pprint()` sorts dictionary keys before it prints them. Pass `sort_dicts=False` to see the insertion order."
PPRINT_TOO = (
    "I thought csv.DictReader lost the column order, but it was the pretty printer pprint: it sorts dictionary keys by"
    " default. The argument sort_dicts turns that off."
)
LIMIT = "The csv module refuses fields over 131072 characters; csv.field_size_limit raises the limit."
OTHER_LIMIT = "The csv module refuses fields over 65536 characters; csv.field_size_limit raises the limit."
TIDES = "Tide tables are printed in local time, without daylight saving."


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    scratch_store.make_plain(str(tmp_path / "store"))
    return open_test_store(tmp_path / "store", SetClock())


def record(store: Engram, *texts: str, category: str = "FACT") -> list[str]:
    found = []
    for text in texts:
        store.store.clock.advance(seconds=1)  # type: ignore[attr-defined]
        found.append(recording.record(store.store, recording.Draft(text, category), again=True).lore.id)
    return found


def kinds(found: tuple[Pair, ...]) -> set[tuple[str, str, str]]:
    return {(pair.one, pair.other, pair.kind) for pair in found}


def test_a_store_shows_its_duplicates_contradictions_and_copies(store: Engram) -> None:
    ids = record(store, PPRINT, LIMIT, TIDES, PPRINT_TOO, OTHER_LIMIT, TIDES)
    assert kinds(find_pairs(store.store)) == {
        (ids[0], ids[3], DUPLICATE),
        (ids[1], ids[4], CONTRADICTION),
        (ids[2], ids[5], SAME),
    }


def test_a_second_call_reads_no_entry_and_gives_the_same_pairs(
    store: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(store, PPRINT, LIMIT, TIDES, PPRINT_TOO)
    first = find_pairs(store.store)
    looked = spied(monkeypatch)
    assert find_pairs(store.store) == first
    assert looked == []


def test_after_a_change_only_changed_entries_are_read_and_compared(
    store: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = record(
        store, PPRINT, LIMIT, TIDES, PPRINT_TOO, "Queue consumers are idempotent.", "Use uv.", "Pin it."
    )
    before = kinds(find_pairs(store.store))
    looked = spied(monkeypatch)
    ids += record(store, OTHER_LIMIT)
    assert kinds(find_pairs(store.store)) == before | {(ids[1], ids[-1], CONTRADICTION)}
    assert len(looked) == 1
    store.forget(ids[-1])
    assert kinds(find_pairs(store.store)) == before


def spied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that collects the paths of files read for their words."""
    looked: list[str] = []
    read = pair_terms._terms_in

    def noting(store: object, path: str, known: object) -> set[int]:
        looked.append(path)
        return read(store, path, known)  # type: ignore[arg-type]

    monkeypatch.setattr(pair_terms, "_terms_in", noting)
    return looked


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_cache_of_pairs_is_rebuilt(store: Engram, damage: bytes | None) -> None:
    record(store, PPRINT, LIMIT, PPRINT_TOO, OTHER_LIMIT)
    first = find_pairs(store.store)
    cache = Path(store.store.places.state, "pairs.npz")
    whole = cache.read_bytes()
    cache.write_bytes(whole[:60] + b"\xff" * 20 + whole[80:] if damage is None else damage)
    assert find_pairs(store.store) == first
    assert len(cache.read_bytes()) == len(whole)


def test_linked_and_archived_entries_are_not_proposed(store: Engram) -> None:
    ids = record(store, LIMIT, OTHER_LIMIT, PPRINT, PPRINT_TOO)
    assert len(find_pairs(store.store)) == 2
    from engram.usecases.store import entry_writer

    hits = {hit.id: hit.path for hit in store.store.index.look().catalog.select("1")}  # type: ignore[union-attr]

    def linked(lore: Lore) -> Lore:
        return lore._replace(relations=(Relation("supersedes", ids[0]),))

    def archived(lore: Lore) -> Lore:
        return lore._replace(status="archived")

    later_tick(Path(store.store.places.root))
    entry_writer.update(store.store, hits[ids[1]], ids[1], linked, "link")
    entry_writer.update(store.store, hits[ids[2]], ids[2], archived, "archive")
    assert find_pairs(store.store) == ()


def test_parts_of_one_imported_note_are_not_compared_with_each_other(store: Engram, tmp_path: Path) -> None:
    note = tmp_path / "notes/csv.md"
    note.parent.mkdir()
    filler = "\n\n".join(f"Row {number} of the table was read as it stands there." for number in range(55))
    parts = {"First": TIDES, "Limit": LIMIT, "Other limit": OTHER_LIMIT}
    note.write_text(
        "# CSV\n\n" + "".join(f"## {name}\n\n{text}\n\n{filler}\n\n" for name, text in parts.items())
    )
    imported = store.import_markdown(note)
    assert imported.split == 1
    assert len(store.list().lore) == 3
    assert find_pairs(store.store) == ()
    record(store, LIMIT, OTHER_LIMIT)
    assert find_pairs(store.store) != ()


def test_without_a_model_the_words_find_candidates(tmp_path: Path) -> None:
    scratch_store.make_plain(str(tmp_path / "store"))
    config = tmp_path / "store" / ".engram.toml"
    config.write_text(config.read_text() + '\n[embedding]\nprovider = "none"\n')
    store = open_test_store(tmp_path / "store", SetClock())
    ids = record(store, LIMIT, TIDES, OTHER_LIMIT)
    assert kinds(find_pairs(store.store)) == {(ids[0], ids[2], CONTRADICTION)}


def test_an_empty_store_has_no_pairs(store: Engram) -> None:
    assert find_pairs(store.store) == ()


def test_a_thousand_copies_are_one_group_and_not_half_a_million_pairs(tmp_path: Path) -> None:
    root = str(tmp_path / "store")
    scratch_store.make_plain(root)
    made = [_lore(number, TIDES) for number in range(300)]
    scratch_store.write_lore(root, ((f"lore/{lore.id}.md", lore) for lore in made))
    found = find_pairs(open_test_store(tmp_path / "store").store)
    assert len(found) == 299
    assert [len(group) for group in group_pairs(found)] == [300]


def _lore(number: int, text: str, category: str = "FACT") -> Lore:
    moment = SetClock().moment
    return Lore(ulid.encode(int(moment.timestamp()) * 1000 + number, number), text, category, moment, moment)


def test_the_texts_of_the_held_out_half_in_one_store_give_most_of_the_pairs(tmp_path: Path) -> None:
    """End to end, with candidates: every text is compared with every other, not only with its labelled partner."""
    labelled = labelled_pairs.load(labelled_pairs.HELD_OUT)
    texts = {text: pair.category for pair in labelled for text in (pair.one, pair.other)}
    lore = {text: _lore(number, text, category) for number, (text, category) in enumerate(texts.items())}
    root = str(tmp_path / "store")
    scratch_store.make_plain(root)
    scratch_store.write_lore(root, ((f"lore/{made.id}.md", made) for made in lore.values()))
    found = {
        (pair.one, pair.other): pair.kind for pair in find_pairs(open_test_store(tmp_path / "store").store)
    }

    ids = {text: made.id for text, made in lore.items()}
    listed: dict[str, list[str]] = {}
    for pair in labelled:
        one, other = sorted((ids[pair.one], ids[pair.other]))
        listed.setdefault(pair.label, []).append(found.get((one, other), ""))
    same = sum(kind in {SAME, DUPLICATE} for kind in listed["same"])
    assert same >= 0.4 * len(listed["same"]), listed
    assert listed["contradiction"].count(CONTRADICTION) >= 0.5 * len(listed["contradiction"]), listed
    notes: dict[str, set[str]] = {}
    for pair in labelled:
        for text in (pair.one, pair.other):
            notes.setdefault(ids[text], set()).update(pair.notes)
    elsewhere = [pair for pair in found if notes[pair[0]].isdisjoint(notes[pair[1]])]
    assert len(elsewhere) <= 0.1 * len(found)
