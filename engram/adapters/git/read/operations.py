"""Read Engram's own commits, newest first: the operation of each, and which commits it undoes or redoes."""

from __future__ import annotations

from engram.adapters.git.read.history import ID, OPERATION, parse_trailers
from engram.adapters.git.run import configuration, layout
from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.git.run.layout import Repository

LORE = "Engram-Lore"
ENTITY = "Engram-Entity"
PROFILE = "Engram-Profile"
SESSION = "Engram-Session"
SOURCE = "Engram-Source"
UNDO = "Engram-Undo"
REDO = "Engram-Redo"
DEED = "Engram-Deed"
REVIEWED = "Engram-Reviewed"  # of a review: the commit on which the proposal was based
_OF_OPERATIONS = (LORE, ENTITY, PROFILE, UNDO, REDO, REVIEWED)
_PAGE = 500
_SECONDS = 60.0
_FORMAT = "%H%x00%cn <%ce>%x00%s%x00%(trailers:only=true,unfold=true)"


class OwnCommit(NamedTuple):
    """A commit of one operation, made in `session` and as part of `deed` ("": unknown).

    `undoes` names the commits that it undoes, `redoes` the undo that it reverts. `op` is the operation's id, a ULID.
    For the review of a proposal, `since` is the commit on which the proposal was based.
    """

    oid: str
    subject: str
    lore: tuple[str, ...]
    undoes: tuple[str, ...]
    redoes: tuple[str, ...]
    session: str = ""
    deed: str = ""
    op: str = ""  # in commits of earlier versions, the id of the batch
    since: str = ""


def own_commits(repo: Repository, source: str) -> Iterator[OwnCommit]:
    """Yield the operations in HEAD's history that this clone made, newest first, reading pages of commits.

    The trailer `Engram-Source` names the clone; a commit without one counts as this clone's if this clone's person
    committed it.
    """
    if layout.read_head(repo).oid is None:
        return
    person = configuration.committer(repo)
    skip = 0
    while page := _read_page(repo, skip):
        for oid, committer, subject, trailing in page:
            values = parse_trailers(trailing)
            if OPERATION not in values or values.keys().isdisjoint(_OF_OPERATIONS):
                continue
            if values.get(SOURCE, (source,))[0] != source or (SOURCE not in values and committer != person):
                continue
            session = values.get(SESSION, ("",))[0]
            yield OwnCommit(
                oid,
                subject,
                values.get(LORE, ()),
                values.get(UNDO, ()),
                values.get(REDO, ()),
                session,
                values.get(DEED, ("",))[0],
                values.get(ID, values[OPERATION])[0],
                values.get(REVIEWED, ("",))[0],
            )
        skip += _PAGE


def _read_page(repo: Repository, skip: int) -> list[tuple[str, ...]]:
    words = ("log", "-z", "--no-merges", "--no-show-signature", "--encoding=UTF-8", f"--format={_FORMAT}")
    output = run(repo, *words, f"-n{_PAGE}", f"--skip={skip}", "HEAD", deadline=_SECONDS).stdout
    fields = output.decode("utf-8", "replace").split("\0")
    return [tuple(fields[at : at + 4]) for at in range(0, len(fields) - 3, 4)]
