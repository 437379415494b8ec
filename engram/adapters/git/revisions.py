"""The repository as it was: from a revision or a date to a commit, and from a commit to its files."""

from __future__ import annotations

import io
import tarfile

from engram.adapters.git.runner import run
from engram.domain import times
from engram.domain.errors import NotFoundError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.git.layout import Repository

ARCHIVE_SECONDS = 120.0


def resolve(repo: Repository, revision: str) -> str:
    """The commit id that a revision names, or the last one at a date (`2026-11-01`, RFC 3339).

    Raises NotFoundError where there is none.
    """
    name = f"{revision}^{{commit}}"
    found = run(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False)
    if found.code == 0:
        return found.stdout.decode().strip()
    try:
        moment = times.render(times.parse(revision))
    except (ValueError, OverflowError):
        raise NotFoundError(
            f"'{revision[:60]}' names no commit here.", "Use a commit, branch, tag or a date like 2026-11-01."
        ) from None
    oid = run(repo, "rev-list", "-1", f"--before={moment}", "HEAD", check=False).stdout.decode().strip()
    if not oid:
        raise NotFoundError(f"There is no commit before {moment}.", "The store is younger than that.")
    return oid


def files_at(repo: Repository, commit: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Paths and bytes of the regular files under `folder` (relative to the work tree) in a commit."""
    listed = run(repo, "ls-tree", "--name-only", "-z", commit, "--", folder).stdout
    if not listed:
        return
    archive = run(repo, "archive", "--format=tar", commit, "--", folder, deadline=ARCHIVE_SECONDS).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()
