"""The tier of an entry follows from who wrote it, where, and who vouches for it, and is shown with it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from apikit import QUEUE, make_plain_store, ok, open_test_store
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.admission.tiers import TIERS, tier_of, writer
from engram.domain.admission.trust import BAD, GOOD, NOT_SIGNED, UNKNOWN_KEY, Signature
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ELSEWHERE = ", another clone"
OWN, OTHER = "01JAAAAAAAAAAAAAAAAAAAAAAA", "01JCCCCCCCCCCCCCCCCCCCCCCC"


def lore(**fields: object) -> Lore:
    return Lore("01JBBBBBBBBBBBBBBBBBBBBBBB", "x", "FACT", NOW, NOW)._replace(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "known", "tier", "reason"),
    [  # what the file says, what is known besides
        ({"agent": "human", "source_id": OWN}, {}, "human", "human"),
        ({"agent": "codex", "source_id": OWN}, {}, "agent", "codex"),
        ({}, {}, "human", "written by hand"),
        ({"source_id": OWN}, {}, "human", "unknown"),
        ({"agent": "codex"}, {}, "agent", "codex"),
        ({}, {"arrived": True}, "foreign", "unknown, another clone"),
        ({"source_id": OWN, "context": ("Imported from notes.md",)}, {}, "import", "unknown, taken from elsewhere"),
        ({"agent": "human", "source_id": OWN, "context": ("Extracted from t",)}, {}, "import", "human, taken from elsewhere"),
        ({"agent": "human", "source_id": OTHER}, {}, "foreign", "human, another clone"),
        ({"source_id": OTHER}, {"signature": Signature(GOOD)}, "human", f"unknown{ELSEWHERE}, signed by a known key"),
        ({"agent": "codex", "source_id": OTHER}, {"signature": Signature(UNKNOWN_KEY)}, "foreign", "codex, another clone"),
        ({"agent": "codex", "source_id": OTHER}, {"signature": Signature(NOT_SIGNED)}, "foreign", "codex, another clone"),
        ({"agent": "codex", "source_id": OTHER}, {"signature": Signature(BAD)}, "foreign", f"codex{ELSEWHERE}, bad signature"),
        ({"agent": "c", "source_id": OTHER}, {"confirmed": True}, "agent", f"c{ELSEWHERE}, confirmed here"),
        ({"agent": "c", "source_id": OTHER, "votes": {OWN[-8:]: Vote(80, 0, 1)}}, {}, "foreign", "c, another clone"),
        ({"agent": "human", "source_id": OWN, "status": "pending"}, {}, "quarantined", "waits until a person accepts it"),
        ({"source_id": OTHER}, {"held": True, "signature": Signature(GOOD)}, "quarantined", "waits until a person accepts it"),
    ],
)  # fmt: skip
def test_the_tier_follows_from_writer_source_and_vouchers(
    fields: dict[str, object], known: dict[str, object], tier: str, reason: str
) -> None:
    found = tier_of(lore(**fields), OWN, **known)  # type: ignore[arg-type]
    assert found == (tier, reason)
    assert found.is_checked is (tier in ("human", "agent"))


def test_a_name_is_cut_at_forty_characters() -> None:
    assert writer(lore(agent="a" * 41), is_own=False) == "a" * 40


@given(st.text(max_size=200), st.sampled_from([OWN, OTHER, ""]), st.booleans())
def test_no_name_can_say_more_than_a_name(agent: str, source: str, held: bool) -> None:
    found = tier_of(lore(agent=agent, source_id=source), OWN, held=held)
    assert found.tier in TIERS
    assert not set(found.reason) & set("<>[]()·:;\n\x1b`'\"|/\\")
    assert len(writer(lore(agent=agent), is_own=False)) <= 40


def test_show_list_and_query_print_the_tier(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    with open_test_store(root, agent="codex") as engram:
        engram.record(QUEUE, category="FACT")
    (root / "lore/by-hand.md").write_text("The office is closed in August.\n")
    ok("reindex", cwd=root)
    rows = ok("list", "--json", cwd=root).json["lore"]
    assert {row["title"]: row["trust"]["tier"] for row in rows} == {
        QUEUE: "agent",
        "The office is closed in August.": "human",
    }
    (found,) = ok("query", "idempotent queue consumers", "--json", "-k", "1", cwd=root).json["lore"]
    assert found["origin"]["trust"] == {"tier": "agent", "reason": "codex"}
    assert ok("show", found["id"], "--json", cwd=root).json["lore"]["origin"]["trust"]["tier"] == "agent"
    assert "trust " not in ok("show", found["id"], cwd=root).out
    ok("record", QUEUE.replace("twice", "often"), "-c", "fact", "--status", "pending", cwd=root)
    (waiting,) = ok("list", "--status", "pending", "--json", cwd=root).json["lore"]
    assert "trust    quarantined: waits" in ok("show", waiting["id"], cwd=root).out
