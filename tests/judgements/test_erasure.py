"""The ids in a list of erased lines, the files that may contain them, and the rest of a file without them.

Mutants that make no difference: `None` for the id of a line that has none.
"""

from __future__ import annotations

import json

import pytest

from engram.domain.judgements import erasure, ledger
from tests.judgements.test_tally import ADA, BOB, ENTRY, line

FIRST, SECOND = line(1), line(2)
PATH = ledger.path_of(ADA, FIRST.id)
LEGACY = ledger.legacy_path("P3ZD8W1A", ENTRY)


def test_a_list_is_its_ids_in_order_and_nothing_else() -> None:
    found = erasure.parse(f"{BOB} nonsense\n\xff {ADA}\n{ADA}".encode("latin-1"))
    assert found == {ADA, BOB}
    assert erasure.render(found) == f"{ADA}\n{BOB}\n".encode()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (PATH, ADA),
        (ledger.name_path(ADA), ADA),
        (LEGACY, ""),
        (f"elsewhere/{ADA}/{ledger.NAME_FILE}", None),
        (f"{ADA}/{ledger.NAME_FILE}", None),
        (ledger.name_path("x" * 26), None),
        (ledger.name_path(ADA) + "s", None),
        ("README.md", None),
    ],
)
def test_the_path_of_a_file_names_its_writer(path: str, source: str | None) -> None:
    assert erasure.source_of(path) == source


@pytest.mark.parametrize(
    ("path", "erased", "may"),
    [
        (PATH, ADA, True),
        (ledger.name_path(ADA), ADA, True),
        (PATH, SECOND.id, True),
        (ledger.path_of(BOB, FIRST.id), SECOND.id, True),
        (ledger.path_of(BOB, "01ARYZ6S41TSV4RRFFQ69G5FAV"), SECOND.id, False),
        (LEGACY, "01ARYZ6S41TSV4RRFFQ69G5FAV", True),
        ("other-2603/README.md", SECOND.id, False),
    ],
)
def test_a_file_of_an_erased_writer_or_month_may_contain_erased_lines(
    path: str, erased: str, may: bool
) -> None:
    months = erasure.months([erased])
    assert erasure.months([SECOND.id]) == {"2603"}
    assert erasure.may_hold(path, {erased}, months) is may


def test_erased_lines_are_removed_and_all_others_stay_byte_for_byte() -> None:
    kept = json.dumps({"id": FIRST.id, "of": SECOND.id}).encode() + b"\n"
    odd = (
        f"[{SECOND.id}\n".encode()
        + f'["{SECOND.id}"]\n'.encode()
        + b"[" * 9999
        + SECOND.id.encode()
        + b"\r\n"
    )
    raw = kept + ledger.render(SECOND) + odd + ledger.render(FIRST).rstrip()
    assert erasure.without(PATH, raw, {SECOND.id}) == kept + odd + ledger.render(FIRST).rstrip()
    assert erasure.without(PATH, raw, {BOB}) is raw
    assert erasure.without(PATH, raw, {ADA}) == b""
