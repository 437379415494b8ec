"""Who signed a commit, as git and the verification program of the person's own configuration find it (`%G?`).

Nothing that is pulled has a say in it: git runs in its own folder, where relative programs and lists of keys are not
those of the work tree, and one that lies in the work tree is not used.
"""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.run.configuration import settings
from engram.adapters.git.run.runner import run
from engram.domain.admission.trust import STATES, UNCHECKED, Signature
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 60.0
AT_ONCE = 1000  # commits
UNSIGNED = Signature(STATES["N"])
_LISTS = ("gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile")
_KINDS = {b"-----BEGIN SSH": "ssh", b"-----BEGIN PGP": "openpgp", b"-----BEGIN SIGNED": "x509"}
_PROGRAMS = {"ssh": "ssh-keygen", "openpgp": "gpg", "x509": "gpgsm"}
_FORMAT = "%H%x00%G?%x00%GF%x00%GS%x00"


def signatures(repo: Repository, commits: Sequence[str]) -> dict[str, Signature]:
    """Return the state of each commit's signature; a commit that cannot be read is left out. Takes ~10 ms for a signed one."""
    found: dict[str, Signature] = {}
    configured = _read_configuration(repo)
    for at in range(0, len(commits), AT_ONCE):
        kinds = _kinds(repo, commits[at : at + AT_ONCE])
        found |= {oid: Signature(UNCHECKED) if kind else UNSIGNED for oid, kind in kinds.items()}
        there = _PROGRAMS.keys() & kinds.values()
        usable = {kind for kind in there if _is_usable(repo, configured, kind)}
        found |= _verify(repo, configured, [oid for oid, kind in kinds.items() if kind in usable])
    return found


def _kinds(repo: Repository, commits: Sequence[str]) -> dict[str, str]:
    """Return what kind of signature each commit has; "" for none."""
    found = zip(commits, objects.read(repo, [oid.encode() for oid in commits], SECONDS), strict=True)
    heads = {
        oid: one.content.partition(b"\n\n")[0] for oid, one in found if one and one.kind == objects.COMMIT
    }
    return {oid: _kind(head) for oid, head in heads.items()}


def _kind(head: bytes) -> str:
    """Return the kind of the signature among the header lines of a commit."""
    signature = head.partition(b"\ngpgsig")[2].partition(b" ")[2]
    if not signature:
        return ""
    return next((kind for start, kind in _KINDS.items() if signature.startswith(start)), "another")


def _read_configuration(repo: Repository) -> dict[str, str]:
    """Return the person's settings about verification, by lower-case key."""
    return {key: value for key, value, _ in settings(repo) if key.startswith("gpg.")}


def _is_usable(repo: Repository, configured: Mapping[str, str], kind: str) -> bool:
    """Return whether there is a program for this kind of signature that no pull can have brought; else git calls it bad."""
    return _program(repo, configured, kind) is not None


def program(repo: Repository, kind: str) -> str | None:
    """Return the absolute path of the program that makes and checks such signatures; None as `_is_usable`."""
    return _program(repo, _read_configuration(repo), kind)


def _program(repo: Repository, configured: Mapping[str, str], kind: str) -> str | None:
    from shutil import which

    program = configured.get(f"gpg.{kind}.program", "")
    if kind == "openpgp":
        program = program or configured.get("gpg.program", "")
    program = os.path.expanduser(program or _PROGRAMS[kind])
    if os.path.dirname(program):
        program = os.path.join(repo.git_dir, program)
    return None if _is_inside(repo, program) else which(program)


def _verify(repo: Repository, configured: Mapping[str, str], commits: Sequence[str]) -> dict[str, Signature]:
    if not commits:
        return {}
    # No list of keys in the work tree counts: whoever may push could put himself on it.
    hidden = (key for key in _LISTS if key in configured and _is_inside(repo, configured[key]))
    settings = [word for key in hidden for word in ("-c", f"{key}={os.devnull}")]
    words = (*settings, "log", "--no-walk=unsorted", "--stdin", f"--format={_FORMAT}", "--encoding=UTF-8")
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    try:
        output = run(repo.git_dir, *words, stdin=asked, deadline=SECONDS + len(commits)).stdout
    except GitError:
        return {}
    fields = output.decode("utf-8", "replace").replace("\0\n", "\0").split("\0")
    rows = zip(*(fields[part::4] for part in range(4)), strict=False)
    # Without a list of signers git says N of what ssh has signed: it does not know, so neither do we.
    known = {state: name for state, name in STATES.items() if state != "N"}
    return {oid: Signature(known[state], key, signer) for oid, state, key, signer in rows if state in known}


def _is_inside(repo: Repository, path: str) -> bool:
    """Return whether a configured path lies in the work tree, which others can change by a push."""
    full = os.path.realpath(os.path.join(repo.git_dir, os.path.expanduser(path)))
    private = any(full.startswith(os.path.join(own, "")) for own in (repo.git_dir, repo.common_dir))
    return full.startswith(os.path.join(repo.worktree, "")) and not private
