"""The moments of an entry: reading, writing, limits and merges."""

from __future__ import annotations

import pytest
from codec_kit import CATEGORIES, NOW, PLAIN, read, read_refused, with_fields

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.moments import MOST, moment_of, parse_moments
from engram.domain.errors import ValidationError
from engram.domain.merge.entry_merge import merge, version_of
from engram.domain.merge.merge import in_order

WANTED = ("command: git push", "file: *.tf", "error: a: b")


@pytest.mark.parametrize(
    "fields",
    [
        'when: [command: git push, file: "*.tf", error: "a: b"]',
        'when:\n  - command: git push\n  - file: "*.tf"\n  - error: "a: b"',
        'when:\n  - "command: git push"\n  - "file: *.tf"\n  - "error: a: b"',
        'when:\n  command: git push\n  file: ["*.tf"]\n  error: "a: b"',
        'when:\n  - Command:   git   push\n  - file: "*.tf"\n    error: "a: b"',
    ],
)
def test_moments_are_read_in_all_forms_of_yaml(fields: str) -> None:
    assert read(with_fields(fields)).lore.when == WANTED


def test_moments_of_an_unknown_kind_and_their_lines_are_kept_by_edits() -> None:
    text = with_fields("when:\n  - weekday: Friday\n  - command: git push")
    file = read(text)
    assert file.lore.when == ("weekday: Friday", "command: git push")
    after = codec.rewrite(file, file.lore._replace(tags=("x",)), CATEGORIES).decode()
    assert "when:\n  - weekday: Friday\n  - command: git push\n" in after


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("when: git push", "when must be a list such as"),
        ("when: [git push]", "when must be a list such as"),
        ("when:\n  - command: [[a]]", "when must be a list such as"),
        (f"when: [{', '.join(f'tool: t{n}' for n in range(MOST + 1))}]", "13 moments in `when` are too many"),
        (f"when: [error: {'x' * 200}]", "A moment in `when` has 207 characters"),
        ("when: [file: *.tf]", "the frontmatter is not YAML"),
    ],
)
def test_malformed_moments_are_refused_with_a_hint(fields: str, reason: str) -> None:
    error = read_refused(with_fields(fields))
    assert reason in error.reason
    assert error.hint


def test_given_moments_are_checked_normalized_and_deduplicated() -> None:
    assert parse_moments(["command: git  push", " COMMAND: git push ", "error: x:y"]) == (
        "command: git push",
        "error: x:y",
    )
    for wrong in ("git push", "comand: git push", "command:"):
        with pytest.raises(ValidationError, match="is not a moment"):
            parse_moments([wrong])
    assert moment_of("later: x") is not None


def test_moments_are_merged_as_a_set_and_left_out_if_empty() -> None:
    base = PLAIN._replace(when=("command: git push", "tool: A"))
    one = base._replace(when=("command: git push", "tool: A", "file: a"))
    other = base._replace(when=("command: git push", "file: b"))
    sides = [version_of(lore, lore.when[-1].encode()) for lore in (one, other)]
    merged = merge(base, *in_order(*sides, NOW), CATEGORIES, NOW).version.record
    assert merged.when == ("command: git push", "file: a", "file: b")
    assert b"when" not in codec.write_new(PLAIN, CATEGORIES)
