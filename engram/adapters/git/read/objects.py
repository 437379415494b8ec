"""The objects of a repository as git stores them: any number of them by one `git cat-file --batch`."""

from __future__ import annotations

from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
COMMIT, TREE, BLOB = b"commit", b"tree", b"blob"


class Object(NamedTuple):
    """An object's kind (`commit`, `tree`, `blob` or `tag`) and its bytes."""

    kind: bytes
    content: bytes


def read(repo: Repository, names: Sequence[bytes], deadline: float = SECONDS) -> list[Object | None]:
    """Return the objects of names like `<id>` or `<commit>:<path>`, without line ends, in order; None for missing ones.

    Raises GitError, also where an object is damaged.
    """
    if not names:
        return []
    asked = b"\n".join(names) + b"\n"
    output = run(repo, "cat-file", "--batch", "--buffer", stdin=asked, deadline=deadline).stdout
    found = list(_parse(output))
    if len(found) != len(names):
        raise GitError(
            f"The git repository at {repo.worktree} is damaged: not all of it can be read.",
            "Run `git fsck` there and repair what it reports.",
            stderr="bad object",
        )
    return found


def _parse(output: bytes) -> Iterator[Object | None]:
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].rsplit(b" ", 2)
        at = end + 1
        if not words[-1].isdigit():  # `<name> missing`, where the name may hold anything
            yield None
            continue
        size = int(words[-1])
        yield Object(words[1], output[at : at + size])
        at += size + 1
