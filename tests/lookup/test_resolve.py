"""Names of entries: refs, ids, prefixes or words; ambiguous and unknown names are refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, TIDES, open_test_store

from engram.domain.errors import AmbiguousError, NotFoundError

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


def test_refs_ids_prefixes_and_words_resolve_to_an_entry(store: Engram) -> None:
    wanted = store.record(QUEUE, category="FACT").lore.id
    store.record(COLOUR, category="FACT")
    answer = store.query("queue consumer patterns")
    assert answer.session_refs == {"L1": wanted}
    names = [
        *("L1", "l1", " L1 ", wanted, wanted.lower(), wanted[:-1], wanted[:-1].lower()),
        *("queue consumer patterns", "Make every handler IDEMPOTENT", "brokers deliver twice"),
        *("queue consumers pattern", "consumer patterns: making handlers idempotent"),
    ]
    for name in names:
        (judged,) = store.feedback(not_relevant=name)
        assert (judged.id, judged.ref) == (wanted, "L1"), name


def test_ambiguous_words_list_the_candidates_and_change_nothing(store: Engram) -> None:
    ids = [store.record(f"The broker in {place} delivers twice", category="FACT").lore.id for place in "ABC"]
    store.query("the broker delivers twice")
    for name in ("delivers twice", "the broker"):
        with pytest.raises(AmbiguousError) as caught:
            store.feedback(helpful=name)
        assert {lore_id for lore_id, _ in caught.value.candidates} == set(ids)
        assert all(lore_id in caught.value.message for lore_id in ids)
        assert caught.value.exit_code == 4
    assert store.feedback(helpful="the broker in B")[0].id == ids[1]
    assert [store.get(lore_id).lore.confidence for lore_id in ids] == [0.70, 0.78, 0.70]


def test_the_candidates_of_an_ambiguous_prefix_are_listed(store: Engram) -> None:
    ids = [store.record(text, category="FACT").lore.id for text in (QUEUE, COLOUR, TIDES)]
    with pytest.raises(AmbiguousError) as caught:
        store.feedback(helpful=ids[0][:10])
    assert [lore_id for lore_id, _ in caught.value.candidates] == sorted(ids)


def test_a_copied_file_does_not_make_a_prefix_ambiguous(store: Engram, tmp_path: Path) -> None:
    done = store.record(QUEUE, category="FACT")
    (tmp_path / "lore" / "copy.md").write_bytes((tmp_path / done.path).read_bytes())
    assert store.feedback(not_relevant=done.lore.id[:12])[0].id == done.lore.id


@pytest.mark.parametrize(
    "name", ["L9", "L0", "01M806ZZWH03EWHXWBG1FA47RA", "01ZZZZ", "words nobody wrote", "🜁", "-"]
)
def test_an_unknown_name_is_not_found(store: Engram, name: str) -> None:
    store.record(QUEUE, category="FACT")
    store.query("queue consumer")
    with pytest.raises(NotFoundError) as caught:
        store.feedback(helpful=name)
    assert caught.value.exit_code == 3
    assert caught.value.hint


def test_words_match_only_entries_shown_in_this_session(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="FACT")
        store.query("queue consumer")
    with open_test_store(tmp_path, session="another") as store, pytest.raises(NotFoundError):
        store.feedback(helpful="queue consumer patterns")


def test_one_unknown_name_fails_the_whole_call(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    with pytest.raises(NotFoundError):
        store.feedback(helpful=[lore_id, "L77"])
    assert store.get(lore_id).lore.confidence == 0.70
