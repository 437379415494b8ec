"""Merge commits: what two heads have in common, and a commit that is the same wherever it is made.

Its parents are sorted, its date is the later one of theirs, its author is Engram: two clones that merge the
same two commits into the same files make one and the same commit.
"""

from __future__ import annotations

from engram.adapters.git import commits, identity
from engram.adapters.git.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.layout import Repository
    from engram.adapters.git.tree import Entry

SIDE = "refs/worktree/engram-merge"
AUTHOR = f"{identity.NAME} <{identity.EMAIL}>"
SECONDS = 60.0


def bases(repo: Repository, one: str, other: str) -> tuple[str, ...]:
    """The best common ancestors, sorted: mostly one, several after criss-cross merges, none of strangers."""
    found = run(repo, "merge-base", "--all", one, other, check=False, deadline=SECONDS)
    if found.code > 1:
        raise GitError(
            "The history of the repository cannot be read.", "Run `git fsck`.", stderr=found.stderr
        )
    return tuple(sorted(found.stdout.decode().split()))


def moments(repo: Repository, names: Sequence[str]) -> tuple[int, ...]:
    """When the commits were made, in unix seconds."""
    # `git show` would compute the changes of a merge even where it is told not to show them.
    listed = run(repo, "log", "--no-walk=unsorted", "--no-show-signature", "--format=%ct", *names).stdout
    return tuple(int(line) for line in listed.split())


def count_between(repo: Repository, ours: str, theirs: str) -> tuple[int, int]:
    """How many commits only `ours` has, and how many only `theirs`."""
    listed = run(repo, "rev-list", "--count", "--left-right", f"{ours}...{theirs}", deadline=SECONDS).stdout
    left, right = listed.split()
    return int(left), int(right)


def write_merge(
    repo: Repository,
    parents: Sequence[str],
    edits: Mapping[str, Entry | None],
    contents: Mapping[str, bytes],
    moment: int,
    message: str = "",
) -> str:
    """Write a commit that no branch sees yet; its id. `parents` are two, sorted, or one that it goes upon.

    `edits` is what its tree holds otherwise than the first parent's; `contents` are bytes, by path, of those
    that the repository does not have.
    """
    head = [b"feature done\n", b"commit " + SIDE.encode() + b"\n", b"mark :1\n"]
    head += [f"{role} {AUTHOR} {moment} +0000\n".encode() for role in ("author", "committer")]
    text = (message or f"Merge {' and '.join(parent[:10] for parent in parents)}\n").encode()
    head += [b"data %d\n%s\n" % (len(text), text), f"from {parents[0]}\n".encode()]
    head += [f"merge {parent}\n".encode() for parent in parents[1:]]
    # Deletions first: where a folder takes the place of a file, the file has to be gone.
    ordered = sorted(edits.items(), key=lambda item: (item[1] is not None, item[0]))
    body = [_edit(path, entry, contents.get(path)) for path, entry in ordered]
    data = b"".join([*head, *body, b"\nget-mark :1\ndone\n"])
    words = (*commits.DURABLE, "fast-import", "--quiet", "--force", "--date-format=raw")
    done = run(repo, *words, stdin=data, deadline=commits.IMPORT_SECONDS, env=reflog_identity())
    return done.stdout.decode("ascii").strip()


def drop_side(repo: Repository) -> None:
    """Forget the merge commit that `write_merge` made last; a branch has it by now, or nobody wants it."""
    run(repo, "update-ref", "-d", SIDE, check=False)


def reflog_identity() -> dict[str, str]:
    """The variables without which git may ask the network for this machine's name."""
    return {"GIT_COMMITTER_NAME": identity.NAME, "GIT_COMMITTER_EMAIL": identity.EMAIL}


def _edit(path: str, entry: Entry | None, content: bytes | None) -> bytes:
    quoted = _quoted(path)
    if entry is None:
        return b"D " + quoted + b"\n"
    if content is None:
        return f"M {entry.mode} {entry.oid} ".encode() + quoted + b"\n"
    return f"M {entry.mode} inline ".encode() + quoted + b"\ndata %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    for old, new in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        raw = raw.replace(old, new)
    return b'"' + raw + b'"'
