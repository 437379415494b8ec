"""Helpers for tests of the codec: categories, fixed ids and times, reading and editing in one call."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import Lore
from engram.domain.errors import LoreFileError

CATEGORIES = Categories()
ID, OTHER, SOURCE = "01JD6TQ8XW9YV3N5K7P2M4R6ST", "01JD6TQ8XW9YV3N5K7P2M4R6SV", "01JD6TQ8XW9YV3N5K7P2M4R6SW"
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LATER = datetime(2026, 11, 22, 8, 0, 0, 1000, tzinfo=UTC)
MODIFIED = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
PLAIN = Lore(ID, "Retries need jitter.", "PATTERN_OUTCOME", NOW, NOW)


def read(text: str | bytes, path: str = "lore/x.md") -> codec.LoreFile:
    raw = text if isinstance(text, bytes) else text.encode()
    return codec.read(raw, path, CATEGORIES, MODIFIED)


def with_fields(fields: str, body: str = "Text.") -> str:
    return f"---\nid: {ID}\ncategory: FACT\n{fields}\n---\n{body}\n"


def read_refused(text: str | bytes) -> LoreFileError:
    with pytest.raises(LoreFileError) as caught:
        read(text)
    assert caught.value.hint
    return caught.value


def apply_edit(text: str, **changes: object) -> str:
    file = read(text)
    lore = file.lore._replace(**changes)
    raw = codec.rewrite(file, lore, CATEGORIES)
    assert read(raw).lore == lore
    return raw.decode()
