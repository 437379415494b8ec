"""The byte stream that `git fast-import` reads (format: git-fast-import(1))."""

from __future__ import annotations

import os

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.read.objects import Entry


class Edit(NamedTuple):
    """One file of a commit: what the tree holds at `path` afterwards (None: nothing) and its content."""

    path: str
    entry: Entry | None
    content: bytes


class Draft(NamedTuple):
    """A commit ready to be written; `author` is `name <email>`, `moment` in unix seconds (UTC)."""

    message: str
    author: str
    moment: int
    edits: tuple[Edit, ...]


def encode(drafts: Sequence[Draft], ref: str, parent: str | None, committer: str) -> bytes:
    """Return the stream that puts `drafts` one upon another on `ref`, the first upon `parent`.

    It makes git print the last commit's id, and ends in `done`: a stream cut short by a kill changes nothing.
    """
    return b"".join(_parts(drafts, ref, parent, committer))


def _parts(drafts: Sequence[Draft], ref: str, parent: str | None, committer: str) -> Iterator[bytes]:
    yield b"feature done\n"
    for number, draft in enumerate(drafts, 1):
        yield b"commit " + os.fsencode(ref) + b"\nmark :%d\n" % number
        yield _line("author", draft.author, draft.moment) + _line("committer", committer, draft.moment)
        yield _data(draft.message.encode("utf-8", "replace"))
        if number == 1 and parent:
            yield b"from " + parent.encode() + b"\n"
        for edit in draft.edits:
            yield from _edit(edit)
    yield b"get-mark :%d\ndone\n" % len(drafts)


def _edit(edit: Edit) -> Iterator[bytes]:
    if edit.entry is None:
        yield b"D " + _quote(edit.path) + b"\n"
        return
    yield b"M " + edit.entry.mode.encode() + b" inline " + _quote(edit.path) + b"\n"
    yield _data(edit.content)


def _line(role: str, person: str, moment: int) -> bytes:
    return f"{role} {person} {moment} +0000\n".encode("utf-8", "replace")


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quote(path: str) -> bytes:
    raw = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + raw + b'"'
