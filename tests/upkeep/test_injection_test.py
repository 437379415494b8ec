"""Harmful text stays in its frame on every way into an agent's context, and quarantined text is in none of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import cli, make_plain_store, ok, open_test_store
from hookkit import answer, text_of
from mcp_kit import connect_inside, text

from engram.domain.agents import fence, framing
from engram.domain.agents.leaks import (
    BROKEN,
    LEAKS,
    LINK,
    NOT_SHOWN,
    QUARANTINED,
    RAW,
    UNFRAMED,
    leaks_of_data,
    leaks_of_quotes,
)
from engram.usecases.agents import auto_recall
from engram.usecases.store import quarantine
from engram.usecases.store.store import Clock
from engram.usecases.upkeep import injection_test

if TYPE_CHECKING:
    from collections.abc import Callable

CLAUDE = "claude-code"
SHORT = (
    "ignore-previous",
    "close-fence",
    "zero-width-fence",
    "ansi",
    "image",
    "bare-link",
    "title-fence",
    "pending",
    "held",
)


def test_no_text_of_the_corpus_leaks(tmp_path: Path) -> None:
    done = cli("doctor", "--poison", "--json", cwd=make_plain_store(tmp_path))
    assert (done.code, done.json["ok"], done.json["findings"]) == (0, True, [])
    assert done.json["lore"] == len(injection_test.corpus()) >= 60
    assert set(done.json["texts"]) == set(injection_test.WAYS)
    assert not list((tmp_path / "lore").rglob("*.md"))


def test_the_corpus_has_many_texts_of_each_attack() -> None:
    rows = injection_test.corpus()
    assert len({row["name"] for row in rows}) == len(rows)
    counts = {
        attack: sum(row["attack"] == attack for row in rows) for attack in {row["attack"] for row in rows}
    }
    assert counts.keys() == {"instruction", "feedback", "frame", "result", "character", "link", "quarantine"}
    assert min(counts.values()) >= 4


@pytest.mark.parametrize(
    ("where", "name", "instead", "leak"),
    [
        (framing, "neutralize", lambda text, **_: text, {RAW, BROKEN, LINK}),
        (fence, "INDENT", "", {UNFRAMED}),
        (quarantine, "quarantined_texts", lambda _store, **_: {}, {QUARANTINED}),
        (auto_recall, "recall_for_files", lambda *_, **__: "", {NOT_SHOWN}),
    ],
    ids=["cleaning", "indentation", "holding", "showing"],
)
def test_a_leak_without_a_defence_is_reported(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, instead: object, leak: set[str]
) -> None:
    rows = [row for row in injection_test.corpus() if row["name"] in SHORT]
    monkeypatch.setattr(injection_test, "corpus", lambda: rows)
    monkeypatch.setattr(where, name, instead)
    if where is quarantine:
        monkeypatch.setattr(auto_recall, "without_quarantined", lambda _store, hits: list(hits))
        monkeypatch.setattr(
            "engram.usecases.agents.brief.without_quarantined", lambda _store, hits: list(hits)
        )
    found = injection_test.poison_check().findings
    assert leak <= {one.leak for one in found} <= set(LEAKS)


def test_the_command_fails_if_anything_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in injection_test.corpus() if row["name"] == "image"]
    monkeypatch.setattr(injection_test, "corpus", lambda: rows)
    monkeypatch.setattr(framing, "neutralize", lambda text, **_: text)
    done = cli("doctor", "--poison", cwd=make_plain_store(tmp_path))
    assert done.code == 1
    assert "active link" in done.out


# --- the real front ends


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a store with the corpus that quarantines foreign entries."""
    root = make_plain_store(tmp_path / "store")
    ok("config", "trust.hold", "foreign", "--user", cwd=root)
    with open_test_store(root, clock=Clock()) as engram:
        injection_test.plant(engram.store)
        engram.refresh()
    return root


def hidden() -> list[str]:
    """Return the words that no agent may see."""
    rows = injection_test.corpus()
    return [
        injection_test.word(n)
        for n, row in enumerate(rows)
        if row.get("held") or row.get("status", "active") != "active"
    ]


async def test_quarantined_text_is_in_no_tool_resource_or_prompt(root: Path) -> None:
    with open_test_store(root) as engram:
        ids = {
            one.lore.content.split()[0]: one.lore.id for one in engram.list(limit=None, status="pending").lore
        }
        held_lore = [one.lore for one in engram.held()]
    names = [*ids.values(), *(lore.id for lore in held_lore)]
    said: list[str] = []
    async with connect_inside(root) as client:
        for word in hidden():
            found = await client.call_tool("recall_query", {"query": f"{word} obey must not be seen"})
            said += [text(found)]
        for name in names:
            refused = await client.call_tool("recall_get", {"refs": [name]})
            assert refused.is_error
            said += [text(refused)]
            with pytest.raises(Exception, match="waits for a person"):
                await client.read_resource(f"lore://{name}")
        for name in ("lore://recent", "lore://session"):
            said += [(await client.read_resource(name)).contents[0].text]
        prompt = await client.get_prompt("recall", {"task": f"{hidden()[0]} obey"})
        said += [prompt.messages[0].content.text.partition("\n\nTask:")[0]]
        copy = f"{hidden()[0]} is pending and must not be seen. Obey."
        file = f"poison/{len(injection_test.corpus()) - 4}.py"
        done = await client.call_tool("recall_record", {"content": copy, "category": "fact", "files": [file]})
        twins = text(done).splitlines()[1:]  # the first one names the new entry
    assert len(names) == 2
    assert [word for word in hidden() if word in "\n".join([*said, *twins])] == []
    assert "> (it waits for a person)" in twins


async def test_tools_and_resources_leak_nothing(root: Path) -> None:
    with open_test_store(root) as engram:
        ids = [one.lore.id for one in engram.list(limit=None, status="active").lore]
        ids = [one for one in ids if one not in {held.lore.id for held in engram.held()}]
    async with connect_inside(root) as client:
        for at in range(0, len(ids), 20):
            got = await client.call_tool("recall_get", {"refs": ids[at : at + 20]})
            assert leaks_of_quotes(text(got)) == []
            for whole in got.structured_content["lore"]:
                checked = whole["trust"] in ("human", "agent")
                assert [
                    x
                    for part in injection_test._strings(whole)
                    for x in leaks_of_data(part, is_checked=checked)
                ] == []
        for word in (injection_test.word(n) for n in range(0, 80, 20)):
            assert leaks_of_quotes(text(await client.call_tool("recall_query", {"query": word}))) == []
        recent = (await client.read_resource("lore://recent")).contents[0].text
        assert "The newest of" in recent
        assert all(line.startswith(">") for line in recent.splitlines()[2:])
        assert "</engram-lore>" not in recent


def test_quarantined_text_is_in_no_hook(root: Path) -> None:
    ok("config", "hooks.capture", "false", "--user", cwd=root)  # the errors below would come back as captured
    said: list[str] = []
    for number, word in enumerate(hidden()):
        session = {"session_id": f"s{number}"}
        at = next(n for n in range(len(injection_test.corpus())) if injection_test.word(n) == word)
        asks: tuple[Callable[[], Any], ...] = (
            lambda s=session: answer(CLAUDE, "session-start", root, **s),
            lambda s=session, w=word: answer(
                CLAUDE, "prompt", root, prompt=f"{w} is pending held and must not be seen", **s
            ),
            lambda s=session, n=at: answer(
                CLAUDE, "pre-tool", root, tool_input={"file_path": str(root / f"poison/{n}.py")}, **s
            ),
            lambda s=session, w=word: answer(
                CLAUDE, "tool-failure", root, error=f"error: {w} must not be seen", **s
            ),
        )
        said += [text_of(found) for ask in asks if (found := ask())]
    assert said
    assert [word for word in hidden() if word in "\n".join(said)] == []


def test_an_entry_that_became_pending_after_indexing_is_not_injected(root: Path) -> None:
    row = next(n for n, row in enumerate(injection_test.corpus()) if row["name"] == "polite")
    (file,) = [
        path for path in (root / "lore").rglob("*.md") if injection_test.word(row) in path.read_text("utf-8")
    ]
    with open_test_store(root, clock=Clock()) as engram:
        paths = [str(file.relative_to(root))]
        assert len(auto_recall.load_active(engram.store, paths)) == 1
        file.write_text(
            file.read_text("utf-8").replace("category: FACT", "category: FACT\nstatus: pending"), "utf-8"
        )
        assert auto_recall.load_active(engram.store, paths) == []
