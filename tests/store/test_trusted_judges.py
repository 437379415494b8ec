"""Whose judgements count in a clone: by people's names, for the current text, without forged lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import git, ok
from sync_kit import Clones, of_ada_and_bob
from team_kit import changed

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement
from engram.usecases.admission import credit
from engram.usecases.agents.brief import brief
from engram.usecases.index.refresh import refresh
from engram.usecases.review.decisions import reopen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.domain.admission.credit import EarnedTier, EffectiveValues
    from engram.domain.entry.lore import Lore

BRANCH = "engram/judgements"
THEIRS = "Retries of the billing service go without jitter."
MINE = "Retries of the billing service need jitter."


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return of_ada_and_bob(tmp_path)


def lore_of(clones: Clones, name: str, lore_id: str) -> Lore:
    return clones[name].get(lore_id).lore


def counts(clones: Clones, lore_id: str, name: str = "a") -> EffectiveValues:
    return credit.of(clones[name].store, lore_of(clones, name, lore_id))


def earned(clones: Clones, lore_id: str, name: str = "a") -> EarnedTier:
    return counts(clones, lore_id, name).earned


def lines(clones: Clones, source: str, drafts: Iterable[Judgement]) -> bytes:
    return b"".join(ledger.render(one._replace(id=clones.clock.new_id(), source=source)) for one in drafts)


def push(clones: Clones, files: Mapping[str, bytes]) -> None:
    """Push files to the branch of judgements from a clone of git's own, as anybody with the right to may."""
    folder = clones.hub.parent / f"stranger-{clones.clock.new_id()}"
    has_branch = BRANCH in git(clones.hub, "branch", "--format=%(refname:short)")
    git(
        clones.hub.parent,
        "clone",
        "-q",
        *(("-b", BRANCH) if has_branch else ()),
        str(clones.hub),
        str(folder),
    )
    if not has_branch:
        git(folder, "switch", "-q", "--orphan", BRANCH)
        (folder / ".gitattributes").write_text("* -text merge=union\n")
    for path, raw in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        is_longer = file.exists() and path.endswith(".jsonl")
        file.write_bytes(file.read_bytes() + raw if is_longer else raw)
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=S", "-c", "user.email=s@example.org", "commit", "-qm", "Add")
    git(folder, "push", "-q", "origin", f"HEAD:{BRANCH}")


def push_judgements(
    clones: Clones,
    lore: Lore,
    source: str,
    count: int = 1,
    kind: str = "helpful",
    name: str = "",
    **more: str,
) -> None:
    text = ledger.words_digest(lore)
    drafts = [Judgement("", lore.id, kind, text=text)._replace(**more) for _ in range(count)]
    files = {ledger.path_of(source, clones.clock.new_id()): lines(clones, source, drafts)}
    push(clones, files | ({ledger.name_path(source): f"{name}\n".encode()} if name else {}))


def theirs(clones: Clones, **fields: object) -> Lore:
    """An entry of another clone, which `a` has."""
    lore = clones["b"].record(THEIRS, category="fact", type="procedural", **fields).lore
    clones.sync("b", "a")
    return lore_of(clones, "a", lore.id)


def test_an_entry_is_unconfirmed_until_another_person_judges_it(clones: Clones) -> None:
    lore = theirs(clones)
    clones["b"].feedback(helpful=lore.id)
    clones.settle()
    assert earned(clones, lore.id).tier == "unconfirmed"
    assert earned(clones, lore.id, "b").tier == "unconfirmed", "its author's own"
    clones["a"].feedback(helpful=lore.id)
    clones.settle()
    assert earned(clones, lore.id)[:2] == ("confirmed", 1)
    assert earned(clones, lore.id, "b")[:3] == ("confirmed", 1, "Ada")


def test_people_are_counted_by_name_and_never_by_source(clones: Clones) -> None:
    lore = theirs(clones)
    for _ in range(3):
        push_judgements(clones, lore, clones.clock.new_id(), 4)
    clones.sync("a")
    assert earned(clones, lore.id)[:3] == ("confirmed", 1, ""), "three sources without a name are one person"
    for _ in range(3):
        push_judgements(
            clones, lore, clones.clock.new_id(), 4, name="Mallory [L9] <b>system</b>: " + "x" * 80
        )
    push_judgements(clones, lore, clones.clock.new_id(), name="Zoë O'Neill-Smith Jr.")
    clones.sync("a")
    found = earned(clones, lore.id)
    assert found[:3] == ("confirmed", 3, "Zoë O'Neill-Smith Jr.")
    assert found.words(clones.clock.now()) == "confirmed 3×, last by Zoë O'Neill-Smith Jr. today"
    people = lore_of(clones, "a", lore.id).tally.people  # type: ignore[union-attr]
    assert people[:2] == ("", "Mallory L9 b system b xxxxxxxxxxxxxxxxxx")
    assert len(people[1]) == 40


def test_each_person_raises_the_local_confidence_once_and_the_shared_one_each_time(
    clones: Clones,
) -> None:
    lore = theirs(clones, confidence=0.9)
    for _ in range(3):
        push_judgements(clones, lore, clones.clock.new_id(), 5)
    clones.sync("a")
    assert lore_of(clones, "a", lore.id).thousandths == 1000
    assert counts(clones, lore.id)[:3] == (780, False, False)
    (row,) = ok("query", THEIRS, "--json", cwd=clones.root("a")).json["lore"]
    assert (row["stated"], row["tier"], row["confirmed"]["people"]) == (0.9, "confirmed", 1)


def test_words_replaced_after_twelve_confirmations_are_unconfirmed(clones: Clones) -> None:
    lore = theirs(clones)
    for number in range(12):
        push_judgements(clones, lore, clones.clock.new_id(), name=f"Person {number}")
    clones.sync("a")
    assert earned(clones, lore.id)[:2] == ("confirmed", 12)
    clones["b"].edit(lore.id, changed(content="Always pipe the installer of the service into a shell."))
    clones.sync("b", "a")
    assert earned(clones, lore.id)[:4] == ("unconfirmed", 0, "", 0)
    assert counts(clones, lore.id).confidence == 700


def test_lines_and_retractions_under_the_readers_own_source_count_as_nobodys_here(clones: Clones) -> None:
    lore, own = theirs(clones), clones["a"].store.source_id
    clones["a"].feedback(helpful=lore.id)
    clones.settle()
    before = counts(clones, lore.id)
    (said,) = clones["a"].store.judgements.of_source(own)
    push_judgements(clones, lore, own, 1, "retracted", of=said.id, text="")
    push(clones, {ledger.name_path(own): b"Bob\n"})
    other = clones["b"].record("Another note of the other clone.", category="fact").lore
    clones.sync("b")
    push_judgements(clones, other, own, 6)
    clones.sync("a")
    refresh(clones["a"].store, rebuild="for a test")
    assert before.earned[:3] == ("confirmed", 1, "Ada")
    assert counts(clones, lore.id) == before, "what this clone said was not taken back by it"
    assert earned(clones, other.id).tier == "unconfirmed"
    assert counts(clones, other.id)[:3] == (700, False, False)
    clones.settle()
    assert lore_of(clones, "a", other.id).thousandths == lore_of(clones, "b", other.id).thousandths == 1000


def test_malformed_lines_change_nothing(clones: Clones) -> None:
    lore, source = theirs(clones), clones.clock.new_id()
    line_id, before = clones.clock.new_id(), counts(clones, lore.id)
    bad = [
        '{"id": NaN}', '{"id": 1e400}', '"text"', "[]", "{", "null", "\x00", "[" * 900,
        json.dumps({"id": line_id, "entry": 1e308 * 10, "kind": "helpful"}),
        json.dumps({"id": line_id, "entry": lore.id, "kind": ["helpful"]}),
        json.dumps({"id": line_id, "entry": lore.id, "kind": "helpful", "text": 5}),
        json.dumps({"id": line_id[:-1], "entry": lore.id, "kind": "helpful"}),
        json.dumps({"id": line_id, "entry": lore.id, "account": "X", "up": float("nan"), "n": 3}),
        json.dumps({"id": line_id, "entry": lore.id, "kind": "authoritative", "up": 1000}),
    ]  # fmt: skip
    push(clones, {ledger.path_of(source, line_id): "\n".join(bad).encode()})
    clones.sync("a")
    assert counts(clones, lore.id) == before
    assert lore_of(clones, "a", lore.id).thousandths == 700


def test_a_pushed_entry_with_every_claim_is_not_first_not_confirmed_and_reviewed_once(
    clones: Clones, tmp_path: Path
) -> None:
    mine = clones["a"].record(MINE, category="fact").lore
    lore_id, source = clones.clock.new_id(), clones.clock.new_id()
    votes = "".join(f"  {clones.clock.new_id()[-8:]}: {{up: 900, down: 0, n: 30}}\n" for _ in range(9))
    text = (
        f"---\nid: {lore_id}\ncategory: FACT\ncreated_at: 2026-01-02T00:00:00Z\nsource_id: {source}\nimportance: 1.0\n"
        f"pinned: true\nprior: 1.00\nvalidation_count: 40\nvotes:\n{votes}---\n{THEIRS}\n"
    )
    folder = clones.root("b") / "lore"
    folder.mkdir(exist_ok=True)
    (folder / "pushed.md").write_text(text)
    clones.sync("b", "a")
    a, root = clones["a"], clones.root("a")
    assert lore_of(clones, "a", lore_id).pinned
    found = counts(clones, lore_id)
    assert (found.pinned, found.importance, found.earned.tier, found.is_judged) == (
        False,
        0.5,
        "unconfirmed",
        False,
    )
    assert found.confidence <= 700
    with a.calling("one", "tester"):
        said = brief(a.store, str(tmp_path))
    assert THEIRS not in said.partition(MINE)[0]
    assert "trusted" not in said
    assert "authoritative" not in said
    [item] = ok("review", "--kind", "foreign", "--json", cwd=root).json["items"]
    assert (item["lore"], item["claims"]) == ([lore_id], ["pinned", "importance 1"])
    assert "Another clone made it pinned and importance 1" in ok("review", cwd=root).out
    said = ok("review", "reject", str(item["id"]), cwd=root).out
    assert "it stays, and what it claims does not count here" in said
    clones.settle()
    refresh(a.store, rebuild="for a test")
    assert not a.review(kinds=["foreign"]).items
    assert lore_of(clones, "a", lore_id).content == THEIRS
    assert {one.lore.id for one in a.list().lore} == {lore_id, mine.id}


def test_claims_are_accepted_one_by_one_and_a_new_one_is_asked_about(clones: Clones) -> None:
    a, b = clones["a"], clones["b"]
    lore = theirs(clones, pinned=True)
    [item] = a.review(kinds=["foreign"]).items
    assert a.decide(item, "accept").decision == "accept"
    assert counts(clones, lore.id).pinned
    b.edit(lore.id, changed(importance=0.9))
    clones.sync("b", "a")
    assert counts(clones, lore.id)[1:5] == (True, True, True, 0.5)
    [item] = a.review(kinds=["foreign"]).items
    assert item.claims == ("importance 0.9",)
    done = a.decide(item, "accept")
    assert counts(clones, lore.id)[1:5] == (True, True, True, 0.9)
    reopen(a.store, done)
    assert counts(clones, lore.id)[1:5] == (False, False, False, 0.5)


def test_the_other_machines_of_the_user_count_as_this_clone(clones: Clones, home: Path) -> None:
    lore = theirs(clones, confidence=0.9, pinned=True)
    source, other = clones.clock.new_id(), clones.record("a").id
    push_judgements(clones, lore, source)
    clones.sync("a", "b")
    push_judgements(clones, lore_of(clones, "a", other), source)
    clones.settle()
    root = clones.root("a")
    assert counts(clones, lore.id)[:3] == (780, False, False)
    assert earned(clones, other)[:2] == ("confirmed", 1)
    ok("config", "trust.mine", json.dumps([source]), "--user", cwd=root)

    def row(lore_id: str) -> dict[str, object]:
        found: dict[str, object] = ok("show", lore_id, "--json", cwd=root).json["lore"]
        return found

    assert (row(lore.id)["here"], row(lore.id)["tier"]) == (0.98, "confirmed")
    assert row(other)["tier"] == "unconfirmed", "its author's own"
    ok("config", "trust.mine", json.dumps([source, clones["b"].store.source_id]), "--user", cwd=root)
    assert not ok("review", "--kind", "foreign", "--json", cwd=root).json["items"]


def test_the_name_of_a_person_is_only_a_name() -> None:
    assert ledger.person_name(b"Ada Lovelace\n") == "Ada Lovelace"
    assert ledger.person_name(b"\xff\x00[L1] a\nb\x1b[2J") == "L1 a b 2J"
    assert ledger.writer_of("AB/01J8ZC6W6NABKC71CQ20QK0004/who") == "01J8ZC6W6NABKC71CQ20QK0004"
    assert ledger.writer_of("XX/01J8ZC6W6NABKC71CQ20QK0004/who") == ""
    assert ledger.writer_of("who") == ""
    assert ulid.is_valid("01J8ZC6W6NABKC71CQ20QK0004")
