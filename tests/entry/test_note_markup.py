"""The markup of a note: its names, tags and links to other notes, and resolving names to notes."""

from __future__ import annotations

from engram.domain.entry.note_markup import (
    RULES_TAG,
    Named,
    NoteMarkup,
    follow_link,
    inline_tags,
    read_markup,
    targets,
)


def test_markup_has_names_tags_with_parents_and_links_to_notes() -> None:
    content = "About #ops/pager and `#code`. See [[Runbook|it]], ![[plan.png]], [how](../How%20To.md#x) and [web](a.html)."
    found = read_markup(
        "Team/Duty.md", content, ["On call", "Duty"], ["Team/"], '---\nlead: "[[Ada]]"\n---\n'
    )
    assert found == NoteMarkup(
        ("Duty", "On call"), ("Team", "ops", "ops/pager"), ("/How To|How To", "Ada", "Runbook")
    )


def test_files_of_rules_for_agents_are_tagged_in_any_folder() -> None:
    assert read_markup("a/CLAUDE.md", "Text", (), ()).tags == (RULES_TAG,)
    assert read_markup("a/CLAUDE2.md", "Text", (), ()).tags == ()


def test_hashes_in_addresses_words_headings_and_numbers_are_no_tags() -> None:
    assert inline_tags("#a-1, (#b) #2026 x#c /#d [e](f#g) # Title ##h\n```\n#i\n```\n#a-1 #ä/b") == [
        "a-1",
        "b",
        "ä/b",
    ]


NOTES = (
    Named("deep", "x/y/Plan.md", "A title"),
    Named("near", "x/Plan.md", "Another title"),
    Named("c", "C.md", "C"),
    Named("c++", "C++.md", "Plan of the year", ("Plan", "Cpp")),
    Named("a", "A.md", "Cpp"),  # an alias takes precedence over a title
    Named("untitled", "B.md", ""),
)


def test_in_place_a_name_resolves_to_one_note_as_in_obsidian() -> None:
    index = targets(NOTES, in_place=True)
    found = {
        link: follow_link(index, link)
        for link in ("Plan", "y/plan", "/x/y/Plan", "/Plan", "C", "c++", "CPP", "Nowhere")
    }
    assert found == {
        "Plan": ["near"], "y/plan": ["deep"], "/x/y/Plan": ["deep"], "/Plan": None,
        "C": ["c"], "c++": ["c++"], "CPP": ["c++"], "Nowhere": None,
    }  # fmt: skip
    assert follow_link(index, "/Nowhere|Another title") == ["near"], "the first name that resolves"
    assert follow_link(index, "") is None


def test_elsewhere_a_name_shared_by_several_notes_resolves_to_all_of_them() -> None:
    index = targets(NOTES, in_place=False)
    assert set(follow_link(index, "plan") or ()) == {"deep", "near", "c++"}
    assert follow_link(index, "Another title") == ["near"]
    assert follow_link(index, "y/Plan") is None, "only file names count there"
