"""Encode the input of `git fast-import` (format: git-fast-import(1))."""

from __future__ import annotations

import os

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.read.objects import Entry


class Edit(NamedTuple):
    """A change of one file by a commit: the new entry at `path` (None: deleted) and its content."""

    path: str
    entry: Entry | None
    content: bytes


class Draft(NamedTuple):
    """A commit to be written; `author` is `name <email>`, `moment` is in Unix seconds (UTC)."""

    message: str
    author: str
    moment: int
    edits: tuple[Edit, ...]


def encode(drafts: Sequence[Draft], ref: str, parent: str | None, committer: str) -> bytes:
    """Return the stream that commits `drafts` to `ref` in order, the first with the parent `parent`.

    It makes git print the last commit's id, and ends in `done`: a stream that a kill cut short changes nothing.
    """
    return b"".join(_encode_parts(drafts, ref, parent, committer))


def _encode_parts(drafts: Sequence[Draft], ref: str, parent: str | None, committer: str) -> Iterator[bytes]:
    yield b"feature done\n"
    for number, draft in enumerate(drafts, 1):
        yield b"commit " + os.fsencode(ref) + b"\nmark :%d\n" % number
        yield _encode_person("author", draft.author, draft.moment) + _encode_person(
            "committer", committer, draft.moment
        )
        yield _encode_data(draft.message.encode("utf-8", "replace"))
        if number == 1 and parent:
            yield b"from " + parent.encode() + b"\n"
        for edit in draft.edits:
            yield from _encode_edit(edit)
    yield b"get-mark :%d\ndone\n" % len(drafts)


def _encode_edit(edit: Edit) -> Iterator[bytes]:
    if edit.entry is None:
        yield b"D " + _quote(edit.path) + b"\n"
        return
    yield b"M " + edit.entry.mode.encode() + b" inline " + _quote(edit.path) + b"\n"
    yield _encode_data(edit.content)


def _encode_person(role: str, person: str, moment: int) -> bytes:
    return f"{role} {person} {moment} +0000\n".encode("utf-8", "replace")


def _encode_data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quote(path: str) -> bytes:
    raw = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + raw + b'"'
