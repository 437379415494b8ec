"""Who signed a commit, as git and the verification program of the person's own configuration find it (`%G?`).

Nothing that is pulled has a say in it: git runs in its own folder, where relative programs and lists of keys are not
those of the work tree, and one that lies in the work tree is not used.
"""

from __future__ import annotations

import os

from engram.adapters.git.runner import run
from engram.domain.errors import GitError
from engram.domain.trust import STATES, UNCHECKED, Signature
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.adapters.git.layout import Repository

SECONDS = 60.0
AT_ONCE = 1000  # commits
UNSIGNED = Signature(STATES["N"])
_LISTS = ("gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile")
_PROGRAMS = ("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program",
             "gpg.ssh.defaultkeycommand")  # fmt: skip
_FORMAT = "%H%x00%G?%x00%GF%x00%GS%x00"


def signatures(repo: Repository, commits: Sequence[str]) -> dict[str, Signature]:
    """The state of each commit's signature; a commit that cannot be read is left out. Takes ~10 ms for a signed one."""
    found: dict[str, Signature] = {}
    for at in range(0, len(commits), AT_ONCE):
        some = commits[at : at + AT_ONCE]
        signed = _signed(repo, some)
        found |= {oid: Signature(UNCHECKED) if is_signed else UNSIGNED for oid, is_signed in signed.items()}
        found |= _verified(repo, [oid for oid, is_signed in signed.items() if is_signed])
    return found


def _signed(repo: Repository, commits: Iterable[str]) -> dict[str, bool]:
    """Whether each commit has a signature of any kind."""
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    said = run(repo, "cat-file", "--batch", "--buffer", stdin=asked, deadline=SECONDS).stdout
    found: dict[str, bool] = {}
    at = 0
    while at < len(said):
        end = said.index(b"\n", at)
        words = said[at:end].split(b" ")
        if len(words) != 3 or not words[2].isdigit():
            at = end + 1
            continue
        size = int(words[2])
        if words[1] == b"commit":
            head = said[end + 1 : end + 1 + size].partition(b"\n\n")[0]
            found[words[0].decode()] = b"\ngpgsig" in head
        at = end + size + 2
    return found


def _verified(repo: Repository, commits: Sequence[str]) -> dict[str, Signature]:
    settings = _settings(repo) if commits else None
    if settings is None:
        return {}
    words = (*settings, "log", "--no-walk=unsorted", "--stdin", f"--format={_FORMAT}", "--encoding=UTF-8")
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    try:
        said = run(repo.git_dir, *words, stdin=asked, deadline=SECONDS + len(commits)).stdout
    except GitError:
        return {}
    fields = said.decode("utf-8", "replace").replace("\0\n", "\0").split("\0")
    rows = zip(*(fields[part::4] for part in range(4)), strict=False)
    # Without a list of signers git says N of what ssh has signed: it does not know, so neither do we.
    return {
        oid: Signature(STATES[state], key, signer)
        for oid, state, key, signer in rows
        if state in STATES and state != "N"
    }


def _settings(repo: Repository) -> tuple[str, ...] | None:
    """Words for git by which no list of keys in the work tree counts; None where a program lies in it."""
    said = run(repo.git_dir, "config", "-z", "--get-regexp", r"^gpg\.", check=False).stdout
    words: list[str] = []
    for item in os.fsdecode(said).split("\0"):
        key, _, value = item.partition("\n")
        if key in (*_LISTS, *_PROGRAMS) and _is_inside(repo, value):
            if key in _PROGRAMS:
                return None
            words += ["-c", f"{key}={os.devnull}"]
    return tuple(words)


def _is_inside(repo: Repository, path: str) -> bool:
    """Whether a configured path lies in the work tree, which others can change by a push."""
    full = os.path.realpath(os.path.join(repo.git_dir, os.path.expanduser(path)))
    private = any(full.startswith(os.path.join(own, "")) for own in (repo.git_dir, repo.common_dir))
    return full.startswith(os.path.join(repo.worktree, "")) and not private
