"""Three clones that change one file and pull from one another, in random histories with criss-cross merges."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations

from codec_kit import ID
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_history import CLONES, START, Clones, helpful, incorrect
from merge_kit import CATEGORIES, quick, read

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore

BODY = "Title\n\nparagraph 0\n\nmore\n\nparagraph 1\n\nand more\n\nparagraph 2"
ROOT = codec.write_new(Lore(ID, BODY, "FACT", START, START, tags=("a", "b")), CATEGORIES)
numbers = st.integers(0, 9)
# Of four kinds together: 10,000 when thorough, as `.ci/run` asks of this file.
histories = settings(quick, max_examples=examples(20, 2500))
Edit = Callable[[Lore, int], Lore]


def paragraph(number: int, which: int | None = None) -> Edit:
    """Rewrite one's own paragraph, or a certain one."""

    def edit(lore: Lore, clone: int) -> Lore:
        lines = lore.content.split("\n")
        lines[2 + 4 * (clone if which is None else which)] = f"{CLONES[clone]} wrote {number}"
        return lore._replace(content="\n".join(lines))

    return edit


def tag(number: int) -> Edit:
    word = f"t{number}"
    return lambda lore, _: lore if word in lore.tags else lore._replace(tags=(*lore.tags, word))


def untag(number: int) -> Edit:
    words = ("a", "b", "t1", "t2")
    return lambda lore, _: lore._replace(tags=tuple(word for word in lore.tags if word != words[number % 4]))


def context(number: int) -> Edit:
    return lambda lore, _: lore._replace(context=(*lore.context, f"seen {number}"))


def own_field(number: int) -> Edit:
    return lambda lore, clone: lore._replace(
        **({"agent": f"{number}"}, {"importance": number / 10}, {"pinned": not lore.pinned})[clone]
    )


def agent(number: int) -> Edit:
    return lambda lore, _: lore._replace(agent=f"{number}")


def key(number: int, name: str | None = None) -> Callable[[bytes, int], bytes]:
    """Write a key of one's own by hand, or a certain one."""

    def edit(raw: bytes, clone: int) -> bytes:
        text, label = raw.decode(), name or f"key{clone}"
        if f"{label}: " in text:
            return re.sub(f"{label}: .*", f"{label}: {number}", text).encode()
        return text.replace("category:", f"# by {clone}\n{label}: {number}\ncategory:", 1).encode()

    return edit


apart = st.one_of(
    st.sampled_from([helpful, incorrect]),
    numbers.map(paragraph),
    numbers.map(tag),
    numbers.map(untag),
    numbers.map(context),
    numbers.map(own_field),
)
meeting = st.one_of(apart, numbers.map(lambda number: paragraph(number, 0)), numbers.map(agent))
clones = st.integers(0, 2)
by_hand = st.tuples(st.just("raw"), clones, numbers.map(lambda number: key(number, "note")))
own_by_hand = st.tuples(st.just("raw"), clones, numbers.map(key))
pulls = st.tuples(st.sampled_from(["pull", "cross"]), clones, clones)


def history(*changes: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.one_of(*changes, pulls), max_size=16)


def run(operations: list) -> Clones:
    found = Clones(ROOT)
    for kind, clone, what in operations:
        if kind == "edit":
            found.change(clone, what)
        elif kind == "raw":
            found.change_raw(clone, what)
        elif clone != what:
            (found.pull if kind == "pull" else found.cross)(clone, what)
    return found


def edits(changes: st.SearchStrategy) -> st.SearchStrategy:
    return st.tuples(st.just("edit"), clones, changes)


@histories
@given(history(edits(meeting), by_hand, own_by_hand))
def test_all_clones_end_with_the_same_commit_and_every_vote_once(operations: list) -> None:
    found = run(operations)
    found.settle()
    assert len(set(found.heads)) == 1
    votes = read(found.raw(0)).lore.votes
    assert [votes.get(clone, Vote()) for clone in CLONES] == found.given


@histories
@given(history(edits(meeting), by_hand, own_by_hand))
def test_every_text_a_clone_wrote_last_is_there_for_everyone(operations: list) -> None:
    found = run(operations)
    wanted = {
        line
        for clone in range(3)
        for line in read(found.raw(clone)).lore.content.split("\n")
        if line.startswith(CLONES[clone])
    }
    for order in permutations(range(3)):
        lore = read(found.graph.content[found.folded(order)]).lore
        text = "\n".join([lore.content, *[entry.value for entry in lore.conflicts]])
        later = {line for line in wanted if line not in text}
        # What is gone was rewritten by a clone that had seen it.
        assert all(any(line in content_of(found, at) for at in overwritten(found, line)) for line in later)


def content_of(found: Clones, commit: str) -> str:
    return read(found.graph.content[commit]).lore.content


def overwritten(found: Clones, line: str) -> list[str]:
    """The commits that hold a line and have a child without it that is no merge."""
    graph = found.graph
    return [
        parent
        for child, parents in graph.parents.items()
        if len(parents) == 1
        for parent in parents
        if line in content_of(found, parent) and line not in content_of(found, child)
    ]


@histories
@given(history(edits(apart), own_by_hand))
def test_changes_apart_give_the_same_entry_in_whatever_order_they_are_merged(operations: list) -> None:
    found = run(operations)
    results = [read(found.graph.content[found.folded(order)]).lore for order in permutations(range(3))]
    assert len({repr(unordered(lore)) for lore in results}) == 1
    assert all(not lore.conflicts for lore in results)


def test_duplicates_in_a_list_are_merged_into_one_in_any_order() -> None:
    """A history that the search found."""
    found = run([("edit", 0, context(0)), ("edit", 2, context(0)), ("pull", 1, 0), ("edit", 0, context(0))])
    results = {
        read(found.graph.content[found.folded(order)]).lore.context for order in permutations(range(3))
    }
    assert results == {("seen 0",)}


def unordered(lore: Lore) -> Lore:
    """The lore without the order of its lists, in which what a later base held stands first."""
    return lore._replace(
        tags=tuple(sorted(lore.tags)),
        context=tuple(sorted(lore.context)),
        votes=dict(sorted(lore.votes.items())),
    )


@histories
@given(st.tuples(*[st.lists(st.one_of(edits(apart), own_by_hand), max_size=3)] * 3))
def test_changes_apart_from_one_base_give_the_same_bytes_in_whatever_order(operations: tuple) -> None:
    found = Clones(ROOT)
    for clone, changes in enumerate(operations):
        for kind, _, what in changes:
            (found.change if kind == "edit" else found.change_raw)(clone, what)
    assert len({found.graph.content[found.folded(order)] for order in permutations(range(3))}) == 1
