"""A lore and its changed versions, for the tests that show each rule of merging by example."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from codec_kit import ID
from codec_kit import NOW as START
from merge_kit import CATEGORIES, merge, read

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.confidence import HELPFUL, Vote, judge
from engram.domain.entry.lore import Lore

if TYPE_CHECKING:
    from engram.adapters.files.merge.merge_file import Merged

TEXT = "# Redelivery\n\nThe broker sends again.\n\nConsumers must be idempotent."
LORE = Lore(ID, TEXT, "FACT", START, START, tags=("queue", "acks"), agent="claude-code")
BASE = codec.write_new(LORE, CATEGORIES)
SOON, LATER = START + timedelta(hours=1), START + timedelta(hours=2)


def with_changes(raw: bytes, **changes: Any) -> bytes:
    file = read(raw)
    return codec.rewrite(file, file.lore._replace(**changes), CATEGORIES)


def judged(raw: bytes, clone: str, kind: str) -> bytes:
    lore = read(raw).lore
    votes = {**lore.votes, clone: judge(lore.votes.get(clone, Vote()), lore.thousandths, kind)}
    validated = {"last_validated": SOON} if kind == HELPFUL else {}
    return with_changes(raw, votes=votes, updated_at=SOON, **validated)


def merged(ours: bytes, theirs: bytes, base: bytes | None = BASE) -> tuple[Lore, Merged]:
    done = merge(base, ours, theirs)
    assert done == merge(base, theirs, ours)
    assert done.content is not None
    return read(done.content).lore, done


def both(ours: dict[str, Any], theirs: dict[str, Any], base: bytes = BASE) -> tuple[Lore, Merged]:
    return merged(with_changes(base, **ours), with_changes(base, **theirs), base)
