"""The context for a topic, within its budget."""

from __future__ import annotations

import shutil
from pathlib import Path

import hypothesis.strategies as st
import pytest
from apikit import QUEUE, SetClock
from hypothesis import given, settings
from team_kit import EVIL, as_agent

from engram.domain.agents.framing import Framed, Section, pack, render
from engram.domain.errors import UsageError
from engram.domain.recall.budget import tokens


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 3)), max_size=12),
    st.integers(200, 3000),
)
def test_a_context_never_exceeds_its_budget(lengths: list[tuple[int, int]], budget: int) -> None:
    sections: list[list[Framed]] = [[], [], [], []]
    for number, (length, place) in enumerate(lengths):
        content = ("One word and another. " * length)[:length]
        sections[place].append(
            Framed(f"L{number}", "I" * 26, content, "FACT", 0.7, "trusted", "agent", "ada")
        )
    packed = pack([Section(f"Part {n}:", tuple(items), 0.5) for n, items in enumerate(sections)], budget)
    assert tokens(packed.text) <= budget
    shown = [one for section in packed.sections for one in section.items]
    assert packed.left_out == len(lengths) - len(shown)
    assert all(render(one) in packed.text for one in shown)
    given_texts = {one.ref: one.content for section in sections for one in section}
    assert all((one.content == given_texts[one.ref]) == (one.left_out == 0) for one in shown)


def test_a_context_has_everything_about_a_topic_once(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.record(QUEUE, category="pattern", entities=["broker"])
        ada.record(f"Queue consumers again: {EVIL}", category="fact", status="pending")
        ada.summarize("Queue consumers were moved to the new broker.")
    (root / "lore/entities").mkdir()
    (root / "lore/entities/rabbit.md").write_text(
        f"---\nname: Rabbit\ntype: tool\naliases: [broker]\nrelationships: [{{kind: uses, to: disk}}]\n---\n\n{EVIL}\n"
    )
    (root / "lore/entities/bad.md").write_bytes(b"\xff")
    with as_agent(root, "bob", clock) as bob:
        bob.summarize("Began to look at queue consumers.")
        found = bob.get_context("queue consumers", 600)
        assert [one.content for one in found.lore] == [QUEUE]
        assert [one.content for one in found.summary] == ["Began to look at queue consumers."]
        assert [one.content for one in found.sessions] == ["Queue consumers were moved to the new broker."]
        (rabbit,) = found.entities
        assert rabbit.content.startswith("Rabbit (tool)\nuses disk\nRead [unchecked link] https")
        assert tokens(found.text) == found.tokens <= 600
        assert "<system>" not in found.text
        assert {
            one.ref for one in (*found.lore, *found.summary, *found.sessions)
        } <= bob.session_refs().keys()
        for wrong in (199, 20_001):
            with pytest.raises(UsageError):
                bob.get_context("queue", wrong)


def test_a_context_works_without_an_index(root: Path, clock: SetClock) -> None:
    with as_agent(root, "ada", clock) as ada:
        ada.record(QUEUE, category="pattern")
        ada.handoff("Retries are left.", to="bob")
        state = Path(ada.store.places.state)
    shutil.rmtree(state / "index", ignore_errors=True)
    (state / "index").write_text("in the way")
    (state / "index.damaged" / "too").mkdir(parents=True)
    with as_agent(root, "bob", clock) as bob:
        found = bob.get_context("queue consumer patterns")
        assert QUEUE in [one.content for one in found.lore]
        assert found.handoffs == ()
        assert "index" in found.notes[0]
