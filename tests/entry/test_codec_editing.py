"""The smallest edit: a changed field changes its own lines, and nothing that a person wrote is lost."""

from __future__ import annotations

from codec_kit import CATEGORIES, ID, LATER, apply_edit, read, with_fields

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.confidence import Vote

NOTE = f"""\
# written by hand
title: My note   # shown in the list

id: {ID}
category: decision # was: FACT
tags: [b, a]   # topics
  # indented
aliases: |+
  one

pinned: yes
confidence: 0.9 # sure
"""


class TestEditing:
    def test_only_the_line_of_the_changed_key_changes(self) -> None:
        text = f"---\n{NOTE}---\nText."
        assert apply_edit(text, tags=("c",), prior=850) == text.replace("[b, a]   #", "[c]   #").replace(
            "  # indented", "# indented"
        ).replace("confidence: 0.9 # sure", "confidence: 0.85 # sure")

    def test_an_unchanged_value_keeps_its_spelling(self) -> None:
        text = with_fields("type: semantic\nstatus: Active\ntags: a, b\npinned: no")
        assert apply_edit(text, agent="me") == text.replace("pinned: no\n", "pinned: no\nagent: me\n")

    def test_a_key_that_returns_to_its_default_is_removed(self) -> None:
        assert apply_edit(with_fields("pinned: true # why\nagent: me"), pinned=False) == with_fields(
            "agent: me"
        )

    def test_blank_edges_alone_are_not_a_change(self) -> None:
        file = read(with_fields("tags: [a]"))
        assert codec.rewrite(file, file.lore._replace(content="\nText.\n\n"), CATEGORIES) == file.raw

    def test_new_keys_take_their_canonical_place(self) -> None:
        text = f"---\ntitle: x\nid: {ID}\ntags: [a]\n\ncreated_at: 2026-11-21\nother: y\n---\nText.\n"
        result = apply_edit(text, context=("c",), agent="me", updated_at=LATER)
        assert result == text.replace(f"{ID}\n", f"{ID}\ncontext: c\n").replace(
            "[a]\n", "[a]\nagent: me\n"
        ).replace("11-21\n", "11-21\nupdated_at: 2026-11-22T08:00:00.001Z\n")

    def test_a_vote_on_a_hand_edited_confidence_keeps_both(self) -> None:
        result = apply_edit(with_fields("confidence: 0.85 # mine"), votes={"A": Vote(80, 0, 1)})
        expected = (
            "confidence: 0.93 # mine\nprior: 0.85\nvotes: {A: {up: 80, down: 0, n: 1}}\nvalidation_count: 1"
        )
        assert result == with_fields(expected)

    def test_derived_values_of_format_1_are_added_only_with_a_vote(self) -> None:
        voted = with_fields("votes: {A: {up: 80, down: 0, n: 1}}")
        assert apply_edit(voted, agent="me") == voted.replace("}}\n", "}}\nagent: me\n")
        assert apply_edit(voted, votes={"A": Vote(160, 0, 2)}) == with_fields(
            "confidence: 0.86\nvotes: {A: {up: 160, down: 0, n: 2}}\nvalidation_count: 2"
        )

    def test_crlf_bom_and_a_missing_final_line_end_are_kept(self) -> None:
        text = "\ufeff" + with_fields("tags: [a]", "One\n\ntwo").replace("\n", "\r\n").removesuffix("\r\n")
        assert apply_edit(text, context=("x\ny",)) == text.replace(
            "tags", "context: |-\r\n  x\r\n  y\r\ntags"
        )
        assert apply_edit(text, content="New\ntext") == text.replace("One\r\n\r\ntwo", "New\r\ntext")

    def test_the_body_keeps_its_bytes_when_only_fields_change(self) -> None:
        body = "\n\n  odd \t\r\n mixed\rends  \n\n"
        assert apply_edit(with_fields("tags: [a]", body), tags=("b",)) == with_fields("tags: [b]", body)

    def test_adoption_puts_fields_before_an_untouched_body(self) -> None:
        text = "---\r\nprose\r\n---\r\nmore"
        head = f"---\nid: {ID}\ncategory: FACT\ncreated_at: 2026-05-06T07:08:09Z\n---\n\n"
        assert apply_edit(text, id=ID) == head.replace("\n", "\r\n") + text
        for blank in ("\n", "\n\n"):
            assert apply_edit(f"{blank}more\n", id=ID) == head.removesuffix("\n") + f"{blank}more\n"

    def test_adoption_of_a_foreign_note_keeps_its_keys(self) -> None:
        text = "---\ntitle: x\ndate: 2020-02-03\n---\nText.\n"
        added = f"id: {ID}\ncategory: FACT\ncreated_at: 2020-02-03T00:00:00Z\n"
        assert apply_edit(text, id=ID) == text.replace("02-03\n", f"02-03\n{added}")

    def test_an_indented_mapping_stays_indented(self) -> None:
        text = f"---\n  id: {ID}\n  tags: [a]\n---\nText.\n"
        result = apply_edit(text, context=("a\n\n b",), tags=("c",))
        assert result == text.replace("tags: [a]", "context: |-\n    a\n\n     b\n  tags: [c]")

    def test_a_removal_does_not_feed_a_block_before_it(self) -> None:
        text = with_fields("context: |+\n  kept\nagent: me\n\n  # note\nother: x")
        result = apply_edit(text, agent="")
        assert result == with_fields("context: |+\n  kept\n# note\nother: x")
