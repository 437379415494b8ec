"""Links in a vault lead where Obsidian follows them: by file name, path or alias, in every form that it writes."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest
from apikit import cli, ok
from effort import sampled
from gitkit import isolate

import engram
from engram.usecases.graph.broken_links import all_bad_links
from engram.usecases.graph.graph_building import graph_of
from engram.usecases.index.index_query import query_index
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.init import init_here

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.app import Engram

HERE = "Notes/Here.md"
NOTES = {
    "Alpha.md": "---\naliases: [First Letter]\n---\nThe first ^block\n\n# A heading\n",
    "Notes/Beta.md": "Another\n",
    "Notes/deep/Gamma Ray.md": "Rays\n",
    "Paren (1).md": "With a number\n",
    "C.md": "The language C\n",
    "C++.md": "The language C++\n",
    "Overview.md": "The overview of all\n",
    "Notes/Overview.md": "The overview of these notes\n",
    f"{unicodedata.normalize('NFD', 'Café')}.md": "Coffee\n",
    "Files/plan.png": "a picture\n",
}
LEADS = {
    "[[Alpha]]": "Alpha.md",
    "[[alpha]]": "Alpha.md",
    "[[Alpha.md]]": "Alpha.md",
    "[[Alpha#A heading]]": "Alpha.md",
    "[[Alpha#A heading|shown]]": "Alpha.md",
    "[[Alpha|shown]]": "Alpha.md",
    "| [[Alpha\\|in a table]] |": "Alpha.md",
    "[[Alpha#^block]]": "Alpha.md",
    "![[Alpha]]": "Alpha.md",
    "![[Alpha#^block]]": "Alpha.md",
    "[[First Letter]]": "Alpha.md",
    "[[Notes/Beta]]": "Notes/Beta.md",
    "[[/Notes/Beta]]": "Notes/Beta.md",
    "[[Notes/Beta.md]]": "Notes/Beta.md",
    "[[deep/Gamma Ray]]": "Notes/deep/Gamma Ray.md",
    "[[Paren (1)]]": "Paren (1).md",
    "[[C]]": "C.md",
    "[[C++]]": "C++.md",
    "[[Overview]]": "Overview.md",
    "[[Café]]": f"{unicodedata.normalize('NFD', 'Café')}.md",
    "[o](Overview.md)": "Notes/Overview.md",
    "[o](../Overview.md)": "Overview.md",
    "[b](Beta.md#part)": "Notes/Beta.md",
    "[b](./Beta.md)": "Notes/Beta.md",
    "[a](Alpha.md)": "Alpha.md",
    "[g](deep/Gamma%20Ray.md)": "Notes/deep/Gamma Ray.md",
    "[g](Gamma%20Ray.md)": "Notes/deep/Gamma Ray.md",
    "[g](<Notes/deep/Gamma Ray.md#x>)": "Notes/deep/Gamma Ray.md",
    "[p](Paren%20(1).md)": "Paren (1).md",
}


@pytest.fixture(scope="module")
def lore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A vault outside git; its note `HERE` is written anew by each test."""
    folder = tmp_path_factory.mktemp("vault")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder.parent)
        for path, text in NOTES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        init_here(str(folder))
        with engram.open(str(folder), background=False) as opened:
            yield opened


def test_a_note_goes_by_each_of_its_names_and_graph_shows_its_links_both_ways(tmp_path: Path) -> None:
    for path, text in {
        "Plan.md": "---\naliases: [The roadmap]\n---\nSee [[Herons]], [[Lake]] and ![[map.png]]\n",
        "Birds/Herons.md": "They nest; back to [[the roadmap|Plan]]\n",
        "Birds/Egrets.md": "Like [[Herons]]\n",
        "Alone.md": "Nothing\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    ok("init", "--here", cwd=tmp_path)
    for name in ("plan", "Plan.md", "the roadmap"):
        assert ok("show", name, "--json", cwd=tmp_path).json["lore"]["path"] == "Plan.md", name
    shown = ok("graph", "herons", "--depth", "2", cwd=tmp_path).out
    assert [line.partition(" · ")[0] for line in shown.splitlines()] == [
        "Herons",
        "├─ mentions ↔ Plan",
        "│  └─ mentions → Lake",
        "└─ ← mentions Egrets",
    ]
    assert "nothing links to it" in ok("graph", "Alone", cwd=tmp_path).out
    assert cli("graph", "Nowhere", cwd=tmp_path).code != 0


def written(lore: Engram, text: str) -> tuple[set[str], list[str]]:
    """Write `HERE`; return the paths or names that the graph leads to from there, and the links that doctor reports."""
    with open(lore.store.files.absolute(HERE), "w", encoding="utf-8") as file:
        file.write(text)
    refresh(lore.store)
    paths = query_index(lore.store, lambda found: {hit.id: hit.path for hit in found.catalog.select("1")})
    edges = [edge for edge in graph_of(lore.store).edges if paths.get(edge.source) == HERE]
    reported = query_index(lore.store, lambda found: all_bad_links(lore.store, found))
    return {paths.get(edge.target, edge.target) for edge in edges}, [
        one.message for one in reported if one.path == HERE
    ]


@sampled("link", sorted(LEADS))
def test_a_link_leads_to_the_note_that_obsidian_opens(lore: Engram, link: str) -> None:
    assert written(lore, f"See {link} there.\n") == ({LEADS[link]}, [])


def test_all_links_of_a_note_lead_somewhere_at_once(lore: Engram) -> None:
    text = "\n\n".join([*LEADS, "[[#Own heading]]", "![[plan.png|200]]", "![p](plan.png)"])
    assert written(lore, f"{text}\n") == (set(LEADS.values()), [])


def test_a_link_in_a_property_leads_to_its_note(lore: Engram) -> None:
    text = '---\nup: "[[Alpha|a]]"\nsee:\n  - "[[Notes/Beta]]"\ntags: [[not-a-link]]\n---\nText\n'
    assert written(lore, text) == ({"Alpha.md", "Notes/Beta.md"}, [])


def test_an_entry_has_the_links_of_its_text_and_those_that_lead_to_it(lore: Engram) -> None:
    written(lore, "[[Alpha]], [b](Beta.md), [[Alpha|again]], [[Nothing]], [[Here]]\n")
    called = {one.path: one.lore.id for one in lore.list(limit=None).lore}
    found = [(one.kind, one.title, one.back) for one in lore.links(called[HERE])]
    assert found == [("mentions", "Alpha", False), ("mentions", "Beta", False)]
    assert [(one.id, one.back) for one in lore.links(called["Alpha.md"])] == [(called[HERE], True)]


def test_links_that_lead_nowhere_are_reported(lore: Engram) -> None:
    found, reported = written(lore, "[[Nothing]] [n](Nowhere.md) ![n](gone.png)\n")
    assert found == {"name:nothing", "name:nowhere"}
    assert [one.rpartition(" ")[2] for one in reported] == ["[[Nothing]]", "Nowhere.md", "gone.png"]
