"""Lines of a ledger: written, read in any shape, united alike everywhere; and the names of its files."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry import ulid
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement, LegacyAccount

SOURCE = "01KJPY44E039MMV97SZGY6V9EQ"
ENTRY = "01KJPY44E039MMV97SZGY6V9EZ"


def line(number: int, kind: str = "helpful", **more: str) -> Judgement:
    return Judgement(ulid.encode(1_770_000_000_000 + number, number), ENTRY, kind, source=SOURCE, **more)


def test_a_line_is_read_as_it_was_written_and_omits_empty_values() -> None:
    said = line(1, text="0123456789ab", agent="claude-code")
    raw = ledger.render(said)
    assert sorted(json.loads(raw)) == ["agent", "entry", "id", "kind", "text"]
    assert ledger.parse(raw, SOURCE).judgements == [said]


def test_an_account_is_read_as_it_was_written_and_has_the_same_id_everywhere() -> None:
    account = LegacyAccount(ENTRY, "6R2H5F8K", Vote(80, 0, 1), 1_770_000_000_000)
    assert ledger.parse(ledger.render_account(account), "").accounts == [account]
    assert account.id == account._replace(vote=Vote(160, 0, 2)).id != account._replace(account="DBNFY6G9").id


def test_the_path_of_a_ledger_names_its_writer_and_its_month() -> None:
    path = ledger.path_of(SOURCE, line(1).id)
    assert path == f"39/{SOURCE}/V9EQ-2602.jsonl"
    assert ledger.source_of(path) == ledger.source_of(ledger.path_of(SOURCE, line(1).id, 2)) == SOURCE
    assert ledger.source_of(ledger.legacy_path("6R2H5F8K", ENTRY)) == ""


def test_files_of_other_names_are_no_ledgers() -> None:
    for path in (
        "erased",
        f"39/{SOURCE}/who",
        f"38/{SOURCE}/V9EQ-2602.jsonl",
        "39/x/V9EQ-2602.jsonl",
        "README.md",
    ):
        assert ledger.source_of(path) is None, path


def test_malformed_lines_are_counted_and_skipped() -> None:
    good = ledger.render(line(1))
    bad = [
        b"{", b"[]", b"null", b"NaN", b'"x"', b'{"id":1}', good.replace(b'"helpful"', b"1e400").strip(),
        good.replace(ENTRY.encode(), b"x").strip(), b"\xff\xfe", b"x" * 5000, good.replace(b'"helpful"', b"NaN").strip(),
    ]  # fmt: skip
    found = ledger.parse(b"\n".join([*bad[:5], good.strip() + b"\r", *bad[5:]]), SOURCE)
    assert (found.judgements, found.malformed) == ([line(1)], len(bad))


def test_accounts_with_impossible_numbers_are_skipped() -> None:
    good = ledger.render_account(LegacyAccount(ENTRY, "6R2H5F8K", Vote(80, 0, 1)))
    for number in (b"-1", b"NaN", b"1e400", b'"80"', b"99999999999999", b"true", b"0.5"):
        assert ledger.parse(good.replace(b'"up":80', b'"up":' + number), "").malformed == 1, number
    assert ledger.parse(good.replace(b"6R2H5F8K", b"DBNFY6G9"), "").malformed == 1, (
        "an id that is not its own"
    )


def test_a_file_that_begins_with_the_other_wins_and_a_missing_last_newline_does_no_harm() -> None:
    one, two = ledger.render(line(1)), ledger.render(line(1)) + ledger.render(line(2))
    assert ledger.unite(one, two) == ledger.unite(two, one) == two
    assert ledger.unite(one.rstrip(b"\n"), two) == two
    assert ledger.unite(b"", one) == one


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_united_ledgers_are_the_same_bytes_in_every_order_and_lose_no_line(
    one: list[int], two: list[int], three: list[int]
) -> None:
    raws = [b"".join(ledger.render(line(n)) for n in sorted(set(some))) for some in (one, two, three)]
    a, b, c = raws
    united = ledger.unite(ledger.unite(a, b), c)
    assert united == ledger.unite(a, ledger.unite(c, b)) == ledger.unite(ledger.unite(c, a), b)
    assert ledger.parse(united, SOURCE).judgements == [line(n) for n in sorted({*one, *two, *three})]


def test_united_accounts_have_the_larger_of_each_number() -> None:
    accounts = [
        LegacyAccount(ENTRY, "6R2H5F8K", vote, at)
        for vote, at in ((Vote(80, 300, 1), 5), (Vote(160, 0, 2), 3))
    ]
    other = LegacyAccount(ENTRY, "DBNFY6G9", Vote(0, 150, 0))
    one, two = (
        ledger.render_account(accounts[0]),
        ledger.render_account(other) + ledger.render_account(accounts[1]),
    )
    united = ledger.unite(one, two)
    assert united == ledger.unite(two, one)
    found = ledger.larger_accounts(ledger.parse(united, "").accounts)
    assert found[ENTRY, "6R2H5F8K"] == LegacyAccount(ENTRY, "6R2H5F8K", Vote(160, 300, 2), 5)


def test_names_of_files_and_limits_are_those_of_the_format() -> None:
    assert ledger.LARGEST_FILE == 8_388_608
    assert ledger.name_path(SOURCE) == f"39/{SOURCE}/who"
    assert ledger.legacy_path("6R2H5F8K", "01KJPY44E0ABCDEFGHJKMNPQRS") == "legacy/6R2H5F8K-A.jsonl"
    assert ledger.path_of(SOURCE, line(1).id, 2).endswith("V9EQ-2602-2.jsonl")


def test_the_id_of_an_account_has_the_time_of_its_entry() -> None:
    account = LegacyAccount(ENTRY, "6R2H5F8K", Vote(80, 0, 1))
    assert ulid.moment(account.id) == ulid.moment(ENTRY)
    assert account.at == 0
    assert b'"at"' not in ledger.render_account(account)


def test_the_words_of_an_entry_are_its_text_and_its_contexts() -> None:
    def digest(content: str, *context: str) -> str:
        moment = ulid.moment(ENTRY)
        return ledger.words_digest(Lore(ENTRY, content, "FACT", moment, moment, context=context))

    assert digest("one", "two") == "924cb40d1251"
    assert len({digest("one", "two"), digest("one"), digest("one", "three"), digest("two", "two")}) == 4


def test_texts_of_other_alphabets_stand_in_a_line_as_they_are() -> None:
    assert "Ада".encode() in ledger.render(line(1, agent="Ада"))


def test_invalid_lines_are_kept_when_versions_are_united() -> None:
    one = b"garbage\n" + ledger.render(line(1))
    two = ledger.render(line(2)) + b"\n\nmore of it\r\n"
    united = ledger.unite(one, two)
    assert (
        united
        == ledger.unite(two, one)
        == ledger.render(line(1)) + ledger.render(line(2)) + b"garbage\nmore of it\n"
    )
    assert ledger.parse(united, SOURCE).malformed == 2


def test_every_clone_keeps_the_same_one_of_two_lines_with_one_id() -> None:
    one, two = ledger.render(line(1)), ledger.render(line(1, "incorrect"))
    assert ledger.unite(one, two) == ledger.unite(two, one) == max(one, two)
    account, other = (LegacyAccount(ENTRY, name, Vote(80, 0, 1)) for name in ("6R2H5F8K", "DBNFY6G9"))
    forged = ledger.render_account(other).replace(other.id.encode(), account.id.encode())
    raw = ledger.render_account(account)
    assert ledger.unite(raw, forged) == ledger.unite(forged, raw) == max(raw, forged)


def test_lines_and_texts_may_be_as_long_as_the_limits_and_no_longer() -> None:
    for length, count in ((100, 1), (101, 0)):
        assert len(ledger.parse(ledger.render(line(1, agent="x" * length)), SOURCE).judgements) == count
    raw = ledger.render(line(1)).strip()
    for length, count in ((2000, 1), (2001, 0)):
        assert len(ledger.parse(raw + b" " * (length - len(raw)), SOURCE).judgements) == count


def test_numbers_of_an_account_are_taken_up_to_their_limit_and_default_to_zero() -> None:
    raw = ledger.render_account(LegacyAccount(ENTRY, "6R2H5F8K", Vote((1 << 31) - 1, 0, 0)))
    assert ledger.parse(raw, "").accounts[0].vote == Vote((1 << 31) - 1, 0, 0)
    assert ledger.parse(raw.replace(b"2147483647", b"2147483648"), "").malformed == 1
    short = raw.replace(b',"up":2147483647,"down":0,"n":0', b"")
    assert ledger.parse(short, "").accounts == [LegacyAccount(ENTRY, "6R2H5F8K", Vote())]
    for name, count in (("x" * 100, 1), ("x" * 101, 0), ("", 0)):
        account = ledger.render_account(LegacyAccount(ENTRY, name, Vote(1, 0, 0)))
        assert len(ledger.parse(account, "").accounts) == count, name
