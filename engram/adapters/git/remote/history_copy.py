"""Copy commits to another branch or repository: all of them, or the history of one folder."""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.read.objects import PLAIN, Entry
from engram.adapters.git.run import configuration
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import stream
from engram.adapters.git.write.commits import IMPORT_SECONDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

REF = "refs/engram/moving"  # of commits being copied; not a branch, so that nobody sees an incomplete one
JUDGEMENTS = "refs/engram/moving-judgements"
SECONDS = 600.0
_HEADERS = (b"author ", b"committer ", b"encoding ")


class _Step(NamedTuple):
    """A commit of the history of one folder: its parents in that history, and the folder's tree ("": none)."""

    oid: str
    parents: tuple[str, ...]
    tree: str


def fetch(repo: Repository, git_dir: str, ref: str, to: str = REF) -> str:
    """Fetch a ref of another repository on this machine to the ref `to`; return its commit. Raises GitError."""
    words = ("-c", "fetch.fsckObjects=false", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
             "--no-auto-maintenance", "--no-recurse-submodules", git_dir, f"+{ref}:{to}")  # fmt: skip
    run(repo, *words, deadline=SECONDS)
    return run(repo, "rev-parse", "--verify", f"{to}^{{commit}}").stdout.decode().strip()


def count(repo: Repository, commit: str, path: str = "") -> int:
    """Return the number of commits up to `commit`, or of those that changed `path`."""
    words = ("rev-list", "--count", commit, *(("--", path) if path else ()))
    return int(run(repo, *words, deadline=SECONDS).stdout)


def folder_history(repo: Repository, commit: str, path: str, folder: str) -> str | None:
    """Write the history of the folder `path` to `REF`, as that of `folder` alone; return the last commit.

    Authors, times, messages and contents are kept, ids are not. None if no commit has the folder.
    """
    steps = _read_steps(repo, commit, path)
    if not steps:
        return None
    data = b"".join(_encode_steps(steps, _read_commits(repo, [step.oid for step in steps]), folder))
    forget(repo)
    words = (*DURABLE, "fast-import", "--quiet", "--force", "--date-format=raw-permissive")
    return run(repo, *words, stdin=data, deadline=IMPORT_SECONDS).stdout.decode("ascii").strip()


def commit_on(
    repo: Repository, parent: str | None, files: Mapping[str, bytes | None], message: str, moment: int
) -> str:
    """Write a commit with the parent `parent` and these files changed (None: deleted) to `REF`. `moment` is in Unix seconds."""
    edits = tuple(
        stream.Edit(path, None if content is None else Entry(PLAIN, ""), content or b"")
        for path, content in files.items()
    )
    committer = configuration.committer(repo)
    data = stream.encode([stream.Draft(message, committer, moment, edits)], REF, parent, committer)
    words = (*DURABLE, "fast-import", "--quiet", "--force", "--date-format=raw")
    if parent is None:
        forget(repo)
    return run(repo, *words, stdin=data, deadline=IMPORT_SECONDS).stdout.decode("ascii").strip()


def forget(repo: Repository, ref: str = REF) -> None:
    """Delete the ref; git's next garbage collection removes its objects."""
    run(repo, "update-ref", "-d", ref)


def _read_steps(repo: Repository, commit: str, path: str) -> list[_Step]:
    words = ("rev-list", "--topo-order", "--reverse", "--parents", commit, "--", path)
    listed = [line.split() for line in run(repo, *words, deadline=SECONDS).stdout.decode().splitlines()]
    queries = "".join(f"{names[0]}:{path}\n" for names in listed).encode()
    output = run(repo, "cat-file", "--batch-check", "--buffer", stdin=queries, deadline=SECONDS).stdout
    trees = [line.split() for line in output.decode("utf-8", "replace").splitlines()]
    return [
        _Step(names[0], tuple(names[1:]), facts[0] if facts[1:2] == ["tree"] else "")
        for names, facts in zip(listed, trees, strict=True)
    ]


def _read_commits(repo: Repository, oids: Sequence[str]) -> list[bytes]:
    """Return the bytes of commit objects."""
    return [found.content for found in objects.read(repo, [oid.encode() for oid in oids], SECONDS) if found]


def _encode_steps(steps: Sequence[_Step], raws: Sequence[bytes], folder: str) -> Iterator[bytes]:
    marks = {step.oid: number for number, step in enumerate(steps, 1)}
    yield b"feature done\n"
    for number, (step, raw) in enumerate(zip(steps, raws, strict=True), 1):
        headers, _, message = raw.partition(b"\n\n")
        parents = [marks[parent] for parent in step.parents if parent in marks]
        if not parents:
            yield b"reset " + REF.encode() + b"\n\n"  # else the previous commit would be its parent
        yield b"commit " + REF.encode() + b"\nmark :%d\n" % number
        yield from (line + b"\n" for line in headers.split(b"\n") if line.startswith(_HEADERS))
        yield b"data %d\n%s\n" % (len(message), message)
        yield from (b"%s :%d\n" % (b"merge" if at else b"from", mark) for at, mark in enumerate(parents))
        yield b"deleteall\n"
        if step.tree:
            yield b"M 040000 " + step.tree.encode() + b' "' + os.fsencode(folder) + b'"\n'
    yield b"get-mark :%d\ndone\n" % len(steps)
