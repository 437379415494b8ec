"""Merge commits that somebody else made: a host's merge button, a git without the merge driver, a person."""

from __future__ import annotations

from engram.adapters.git.run import identity
from engram.adapters.git.run.runner import run
from engram.adapters.git.write.merging import learn_moments
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

REPAIRS = "Engram-Repairs"  # the trailer that names the merge commits which a commit repairs
SECONDS = 60.0
AT_FIRST = 200  # merges, where it is not known which were examined before


class Foreign(NamedTuple):
    """A merge of two commits that Engram did not make."""

    oid: str
    ours: str
    theirs: str


def foreign_merges(repo: Repository, head: str, known: str) -> list[Foreign]:
    """Return the merges in the history of `head` that are not in that of `known` ("": the last ones), oldest first.

    Engram's own are left out, and so are those that a later commit has repaired. Raises GitError.
    """
    shown = f"--format=%H%x00%P%x00%ae%x00%ct%x00%(trailers:key={REPAIRS},valueonly,separator=%x20)"
    words = ("log", "--topo-order", "--no-show-signature", shown, "--ignore-missing", head)
    if known:
        lines = _lines(repo, (*words, "--not", known))
        done = {oid for line in lines for oid in line[4].split()}
    else:
        lines = _lines(repo, (*words, "--merges", f"-n{AT_FIRST}"))
        grep = ("--fixed-strings", f"--grep={REPAIRS}: ", f"-n{AT_FIRST}")
        done = {oid for line in _lines(repo, (*words, *grep)) for oid in line[4].split()}
    learn_moments({line[0]: int(line[3]) for line in lines[:AT_FIRST]})
    merges = [(line[0], line[1].split()) for line in lines if line[2] != identity.EMAIL]
    found = [Foreign(oid, *parents) for oid, parents in merges if len(parents) == 2 and oid not in done]
    return found[::-1]


def _lines(repo: Repository, words: tuple[str, ...]) -> list[list[str]]:
    listed = run(repo, *words, deadline=SECONDS).stdout.decode("utf-8", "replace")
    return [line.split("\0") for line in listed.splitlines() if line.count("\0") == 4]
