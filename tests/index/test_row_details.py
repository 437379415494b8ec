"""What an index keeps of an entry to follow its links."""

from __future__ import annotations

from codec_kit import OTHER, PLAIN

from engram.adapters.index.row_details import names
from engram.domain.entry.lore import Relation


def test_an_entry_names_its_relations_its_entities_and_the_links_of_its_text() -> None:
    assert names(None) == names(PLAIN) == []
    assert names(PLAIN._replace(content="See [[outbox]], and [[outbox]].")) == ["mention outbox"]
    assert names(PLAIN._replace(entities=("Kafka",))) == ["entity Kafka"]
    assert names(PLAIN._replace(relations=(Relation("refines", OTHER),))) == [f"refines {OTHER}"]
