"""The markup of a note: its names and tags, which links lead to other notes, and which note a name means."""

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


def test_a_note_has_its_names_its_tags_with_those_above_and_the_notes_it_links_to() -> None:
    content = "About #ops/pager and `#code`. See [[Runbook|it]], ![[plan.png]], [how](../How%20To.md#x) and [web](a.html)."
    found = read_markup(
        "Team/Duty.md", content, ["On call", "Duty"], ["Team/"], '---\nlead: "[[Ada]]"\n---\n'
    )
    assert found == NoteMarkup(
        ("Duty", "On call"), ("Team", "ops", "ops/pager"), ("/How To|How To", "Ada", "Runbook")
    )


def test_a_file_of_rules_for_agents_is_tagged_as_such_wherever_it_is() -> None:
    assert read_markup("a/CLAUDE.md", "Text", (), ()).tags == (RULES_TAG,)
    assert read_markup("a/CLAUDE2.md", "Text", (), ()).tags == ()


def test_a_hash_in_an_address_a_word_a_heading_or_before_digits_alone_is_no_tag() -> None:
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
    Named("a", "A.md", "Cpp"),  # an alias goes before a title
    Named("untitled", "B.md", ""),
)


def test_in_place_a_name_means_one_note_as_in_obsidian() -> None:
    made = targets(NOTES, in_place=True)
    found = {
        link: follow_link(made, link)
        for link in ("Plan", "y/plan", "/x/y/Plan", "/Plan", "C", "c++", "CPP", "Nowhere")
    }
    assert found == {
        "Plan": ["near"], "y/plan": ["deep"], "/x/y/Plan": ["deep"], "/Plan": None,
        "C": ["c"], "c++": ["c++"], "CPP": ["c++"], "Nowhere": None,
    }  # fmt: skip
    assert follow_link(made, "/Nowhere|Another title") == ["near"], "the first way that leads anywhere"
    assert follow_link(made, "") is None


def test_elsewhere_a_name_that_several_notes_have_leads_to_all_of_them() -> None:
    made = targets(NOTES, in_place=False)
    assert set(follow_link(made, "plan") or ()) == {"deep", "near", "c++"}
    assert follow_link(made, "Another title") == ["near"]
    assert follow_link(made, "y/Plan") is None, "only file names count there"
