"""Files of agents: reading, edits of single lines, merges by field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from apikit import SetClock, dedicated, git
from hypothesis import given
from merge_kit import quick
from sync_kit import Clones
from team_kit import as_agent

from engram.adapters.files.frontmatter import agent_file
from engram.adapters.files.frontmatter.named_file import FileContents
from engram.adapters.files.merge.merge_named import merge_named
from engram.domain.entry.lore import Conflict
from engram.domain.errors import LoreFileError
from engram.domain.graph.team import AgentProfile
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from pathlib import Path


PATH = "lore/agents/ada.md"
EARLY = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATE = EARLY + timedelta(days=2)
NOW = EARLY + timedelta(days=9)
BASE = AgentProfile(
    "ada", "Ada", ("review", "go"), "project", (("tone", "short"), ("by", "me")), "One.\n\nTwo."
)
BY_HAND = b"""---
# ours
team: billing   # since March
name: Ada
settings: {tone: short}
capabilities:
  - review
  - go
---

Reviews all.
"""


def written(profile: AgentProfile, stamp: datetime | None = EARLY) -> bytes:
    return agent_file.rewrite(b"", PATH, FileContents(profile, stamp, ()))


def merged(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> FileContents:
    """Return the merge, which must not depend on which side is ours."""
    done, other = (
        merge_named(base, *sides, PATH, NOW, agent_file.KIND) for sides in ((ours, theirs), (theirs, ours))
    )
    assert done.content == other.content
    assert done.content is not None
    return agent_file.read(done.content, PATH)


def test_a_profile_round_trips_and_an_edit_changes_only_lines_that_differ() -> None:
    raw = written(BASE)
    assert raw.decode() == (
        "---\nname: Ada\ncapabilities: [review, go]\ndefault_scope: project\nsettings: {tone: short, by: me}\n"
        "updated_at: 2026-03-04T05:06:07Z\n---\n\nOne.\n\nTwo.\n"
    )
    assert agent_file.read(raw, PATH) == FileContents(BASE, EARLY, ())
    file = agent_file.read(BY_HAND, PATH)
    after = agent_file.rewrite(
        BY_HAND, PATH, file._replace(record=file.record._replace(settings=(("tone", "long: yes"),)))
    )
    assert after == BY_HAND.replace(b"{tone: short}", b'{tone: "long: yes"}')
    assert agent_file.read(b"", PATH).record == AgentProfile("ada", "ada")
    for wrong in (b"---\nname: [a]\n---\n", b"---\nsettings: {a: {b: c}}\n---\n", b"\xff"):
        with pytest.raises(LoreFileError):
            agent_file.read(wrong, PATH)


def test_a_merge_keeps_the_changes_of_both_clones() -> None:
    ours = BASE._replace(
        name="Ada L.",
        capabilities=("review", "go", "python"),
        settings=(("tone", "long"), ("by", "me")),
        text="1.\n\nTwo.",
    )
    theirs = BASE._replace(
        default_scope="team-ml",
        capabilities=("go", "rust"),
        settings=(("tone", "short"), ("at", "night")),
        text="One.\n\n2.",
    )
    assert merged(written(BASE), written(ours), written(theirs, LATE)) == FileContents(
        AgentProfile(
            "ada",
            "Ada L.",
            ("go", "python", "rust"),
            "team-ml",
            (("tone", "long"), ("at", "night")),
            "1.\n\n2.",
        ),
        LATE,
        (),
    )


def test_the_later_of_conflicting_changes_wins_and_the_other_is_a_conflict() -> None:
    ours = BASE._replace(name="A", settings=(("tone", "a"), ("by", "me")), text="Mine.")
    theirs = BASE._replace(name="B", settings=(("tone", "b"), ("by", "me")), text="Yours.")
    found = merged(written(BASE), written(ours), written(theirs, LATE))
    at = "2026-03-04T05:06:07Z"
    assert found.record == theirs
    assert set(found.conflicts) == {
        Conflict("name", "A", "", at),
        Conflict("settings", "tone: a", "", at),
        Conflict("text", "Mine.", "", at),
    }


def test_registrations_of_one_agent_in_two_clones_are_merged() -> None:
    ours, theirs = AgentProfile("ada", "ada", ("go",)), AgentProfile("ada", "Ada", ("rust",), "project")
    found = merged(None, written(ours), written(theirs, LATE))
    assert found == FileContents(AgentProfile("ada", "Ada", ("go", "rust"), "project"), LATE, ())
    by_hand = BY_HAND.replace(b"  - go\n", b"  - go\n  - c\n")
    result = merge_named(BY_HAND, by_hand, BY_HAND.replace(b"Ada", b"A"), PATH, NOW, agent_file.KIND)
    assert result.content == by_hand.replace(b"Ada", b"A"), "comments, order and other keys stay"
    assert merge_named(written(BASE), None, written(BASE, LATE), PATH, NOW, agent_file.KIND).content is None


words = st.text("ab ", min_size=1, max_size=3).map(str.strip).filter(bool)
profiles = st.builds(
    AgentProfile,
    st.just("ada"),
    words,
    st.lists(words, max_size=3, unique=True).map(tuple),
    st.sampled_from(["", "project"]),
    st.dictionaries(st.sampled_from("xyz"), words, max_size=3).map(lambda found: tuple(found.items())),
    st.sampled_from(["", "One.", "One.\n\nTwo.", "2."]),
)


@quick
@given(st.none() | profiles, profiles, profiles)
def test_a_merge_is_symmetric_and_loses_nothing(
    base: AgentProfile | None, one: AgentProfile, other: AgentProfile
) -> None:
    found = merged(None if base is None else written(base), written(one), written(other))
    lost = {entry.value for entry in found.conflicts}
    result = found.record
    for side in (one, other):
        assert side.name in {result.name, *lost} or (base and base.name == side.name) or side.name == "ada"
        for name, value in side.settings:
            known = dict(base.settings) if base else {}
            is_there = dict(result.settings).get(name) == value or f"{name}: {value}" in lost
            assert is_there or known.get(name) == value
    if base is None:
        assert set(result.capabilities) == {*one.capabilities, *other.capabilities}


def test_changes_of_a_profile_in_two_clones_merge_and_setting_a_field_resolves_its_conflict(
    tmp_path: Path,
) -> None:
    clones = Clones(tmp_path)
    clones["a"].register_agent("ada", capabilities=["review"])
    clones.settle()
    clones["a"].register_agent("ada", name="Ada", settings={"tone": "short"})
    clones["b"].register_agent("ada", name="A. L.", capabilities=["review", "go"])
    clones.settle()
    clones.assert_equal()
    for name in "ab":
        (found,) = [one for one in clones[name].team() if one.registered]
        assert found.profile.capabilities == ("review", "go")
        assert dict(found.profile.settings) == {"tone": "short"}
        (result,) = [one for one in doctor(clones[name].store) if one.where.endswith("ada.md")]
        assert (result.kind, "two versions of name" in result.message) == ("conflict", True)
    clones["b"].register_agent("ada", name="Ada")
    assert not [one for one in doctor(clones["b"].store) if one.where.endswith("ada.md")]


def test_manual_edits_of_profiles_are_synced(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    for name in ("ada", "eve"):
        clones["a"].register_agent(name, capabilities=["review"])
    clones.settle()
    folder = clones.root("a") / "lore/agents"
    (folder / "ada.md").write_text((folder / "ada.md").read_text().replace("[review]", "[go]"))
    (folder / "eve.md").rename(folder / "dora.md")
    clones.settle()
    clones.assert_equal()
    result = {one.profile.id: one.profile.capabilities for one in clones["b"].team() if one.registered}
    assert result == {"ada": ("go",), "dora": ("review",)}
    assert git(clones.root("a"), "status", "--porcelain") == ""


def test_undo_reverts_only_the_last_registration(tmp_path: Path) -> None:
    root, clock = dedicated(tmp_path / "store"), SetClock()
    with as_agent(root, "ada", clock) as ada:
        ada.register_agent("ada", capabilities=["review"])
        clock.advance(seconds=5)
        ada.register_agent("ada", name="Ada")
        file = root / "lore/agents/ada.md"
        file.write_text(file.read_text() + "\nReads all.\n")
        ada.undo()
        (found,) = [one for one in ada.team() if one.registered]
        assert (found.profile.name, found.profile.capabilities, found.profile.text) == (
            "ada", ("review",), "Reads all.",
        )  # fmt: skip
