"""Verify signatures of commits (`%G?`) with git and the program in the person's own configuration.

Pulled files cannot influence the result: git runs in its own folder, where relative paths of programs and key lists do
not lead into the work tree, and absolute paths into the work tree are not used.
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
    """Return the state of each readable commit's signature. A signed commit takes about 10 ms."""
    found: dict[str, Signature] = {}
    configured = _read_configuration(repo)
    for at in range(0, len(commits), AT_ONCE):
        kinds = _find_kinds(repo, commits[at : at + AT_ONCE])
        found |= {oid: Signature(UNCHECKED) if kind else UNSIGNED for oid, kind in kinds.items()}
        present = _PROGRAMS.keys() & kinds.values()
        usable = {kind for kind in present if _find_program(repo, configured, kind) is not None}
        found |= _verify(repo, configured, [oid for oid, kind in kinds.items() if kind in usable])
    return found


def _find_kinds(repo: Repository, commits: Sequence[str]) -> dict[str, str]:
    """Return the kind of each commit's signature; "" for none."""
    found = zip(commits, objects.read(repo, [oid.encode() for oid in commits], SECONDS), strict=True)
    heads = {
        oid: commit.content.partition(b"\n\n")[0]
        for oid, commit in found
        if commit and commit.kind == objects.COMMIT
    }
    return {oid: _detect_kind(head) for oid, head in heads.items()}


def _detect_kind(head: bytes) -> str:
    """Return the kind of the signature in the header of a commit."""
    signature = head.partition(b"\ngpgsig")[2].partition(b" ")[2]
    if not signature:
        return ""
    return next((kind for start, kind in _KINDS.items() if signature.startswith(start)), "another")


def _read_configuration(repo: Repository) -> dict[str, str]:
    """Return the person's settings for verification, by lower-case key."""
    return {key: value for key, value, _ in settings(repo) if key.startswith("gpg.")}


def program(repo: Repository, kind: str) -> str | None:
    """Return the absolute path of the program for this kind of signature; None if there is none, or it is in the work tree."""
    return _find_program(repo, _read_configuration(repo), kind)


def _find_program(repo: Repository, configured: Mapping[str, str], kind: str) -> str | None:
    # Without a program git would call every signature bad.
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
    # A list of keys in the work tree does not count: everyone who may push could add themselves to it.
    hidden = (key for key in _LISTS if key in configured and _is_inside(repo, configured[key]))
    settings = [word for key in hidden for word in ("-c", f"{key}={os.devnull}")]
    words = (*settings, "log", "--no-walk=unsorted", "--stdin", f"--format={_FORMAT}", "--encoding=UTF-8")
    names = "".join(f"{oid}\n" for oid in commits).encode()
    try:
        output = run(repo.git_dir, *words, stdin=names, deadline=SECONDS + len(commits)).stdout
    except GitError:
        return {}
    fields = output.decode("utf-8", "replace").replace("\0\n", "\0").split("\0")
    rows = zip(*(fields[part::4] for part in range(4)), strict=False)
    # Without a list of signers git reports N for commits signed with ssh: their state is unknown.
    known = {state: name for state, name in STATES.items() if state != "N"}
    return {oid: Signature(known[state], key, signer) for oid, state, key, signer in rows if state in known}


def _is_inside(repo: Repository, path: str) -> bool:
    """Return whether a configured path is in the work tree, which others can change by a push."""
    full = os.path.realpath(os.path.join(repo.git_dir, os.path.expanduser(path)))
    private = any(full.startswith(os.path.join(own, "")) for own in (repo.git_dir, repo.common_dir))
    return full.startswith(os.path.join(repo.worktree, "")) and not private
