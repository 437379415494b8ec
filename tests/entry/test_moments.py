"""The moments of an entry: how they are written, read, limited and merged."""

from __future__ import annotations

import pytest
from codec_kit import CATEGORIES, NOW, PLAIN, read, refused, with_fields

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
def test_moments_are_read_in_every_form_that_people_write(fields: str) -> None:
    assert read(with_fields(fields)).lore.when == WANTED


def test_a_moment_of_a_later_kind_is_kept_and_an_edit_of_something_else_leaves_its_lines() -> None:
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
def test_moments_that_cannot_be_are_refused_with_what_to_write(fields: str, reason: str) -> None:
    error = refused(with_fields(fields))
    assert reason in error.reason
    assert error.hint


def test_what_somebody_states_is_checked_for_its_kind_and_kept_once() -> None:
    assert parse_moments(["command: git  push", " COMMAND: git push ", "error: x:y"]) == (
        "command: git push",
        "error: x:y",
    )
    for wrong in ("git push", "comand: git push", "command:"):
        with pytest.raises(ValidationError, match="is not a moment"):
            parse_moments([wrong])
    assert moment_of("later: x") is not None


def test_moments_merge_as_a_set_and_an_entry_without_any_has_no_line() -> None:
    base = PLAIN._replace(when=("command: git push", "tool: A"))
    one = base._replace(when=("command: git push", "tool: A", "file: a"))
    other = base._replace(when=("command: git push", "file: b"))
    sides = [version_of(lore, lore.when[-1].encode()) for lore in (one, other)]
    merged = merge(base, *in_order(*sides, NOW), CATEGORIES, NOW).version.record
    assert merged.when == ("command: git push", "file: a", "file: b")
    assert b"when" not in codec.write_new(PLAIN, CATEGORIES)
