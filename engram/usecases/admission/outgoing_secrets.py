"""The last check before lore leaves this machine: no secret goes to a remote, neither in files nor in history."""

from __future__ import annotations

from functools import partial

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import (
    Difference,
    blobs,
    introduced,
    introduced_by_one,
    introducing,
    outgoing,
    sizes,
)
from engram.domain.admission.secrets import Finding, find_secrets
from engram.domain.errors import SecretInCommitError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.commit_secrets import secret_in_commits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from engram.usecases.store.store import Store

AT_ONCE = 500
LARGEST = 1024 * 1024  # bytes; larger files are not text that a person wrote


def check_outgoing(
    store: Store,
    theirs: str | None,
    ours: str,
    report: Callable[[int, int], None] | None = None,
    made: Mapping[str, Mapping[str, bytes]] | None = None,
    clean: Collection[str] = (),
    known: Mapping[str, bytes] | None = None,
    changed: Mapping[str, Difference] | None = None,
) -> list[str]:
    """Search every file content that `ours` has and `theirs` has not for secrets, and return the commits searched.

    Commits that are known to be `clean` are left out. `made` has, by commit and path, the contents that are new with the
    merges of this sync; `known` has contents that need not be read, by object id; `changed` has all differences between
    `theirs` and `ours`, which are all that a single commit can have brought.
    `report` receives how many files are done, of how many; an exception it raises ends the search. A secret that the remote
    has in its own file at that path is no reason to refuse. Raises SecretInCommitError: a commit that holds a secret is
    a person's, whose history Engram does not write anew.
    """
    repo = store.repository
    made = made or {}
    for path, raw in (item for contents in made.values() for item in contents.items()):
        if len(raw) <= LARGEST:
            _check(store, theirs, path, raw, lambda: "")
    commits = [oid for oid in outgoing(repo, theirs, ours) if oid not in made and oid not in clean]
    found = secret_in_commits(store, commits)
    if found is not None:
        oid, what, secret = found
        raise _secret_error(f"The {what} of commit {oid[:10]}", secret, _take_back(store, oid))
    if changed is not None and commits == [ours]:
        paths, added = introduced_by_one(changed, ours)
    else:
        paths, added = introduced(repo, commits)
    _check_names(store, added)

    def take_back(oid: str) -> str:
        return _take_back(store, introducing(repo, commits, oid))

    small = [oid for oid, size in sizes(repo, paths, known).items() if size <= LARGEST]
    for start in range(0, len(small), AT_ONCE):
        if report is not None:
            report(start, len(small))
        for oid, raw in blobs(repo, small[start : start + AT_ONCE], known).items():
            _check(store, theirs, paths[oid], raw, partial(take_back, oid))
    return commits


def _check_names(store: Store, added: Mapping[str, str]) -> None:
    for path, commit in added.items():
        secrets = find_secrets(path, store.allowed_secrets)
        if secrets:
            what = "The name of a file in a commit that the remote does not have"
            raise _secret_error(what, secrets, _take_back(store, commit))


def _secret_error(what: str, found: Sequence[Finding], do: str) -> SecretInCommitError:
    return SecretInCommitError(
        f"{what} holds what looks like a secret ({found[0].rule} {found[0].preview}); nothing was pushed.",
        do,
        tuple(one.as_dict() for one in found),
    )


def _check(store: Store, theirs: str | None, path: str, raw: bytes, take_back: Callable[[], str]) -> None:
    new = new_secrets(store, theirs, path, raw)
    if new:
        first = new[0]
        raise SecretInCommitError(
            f"{path} holds what looks like a secret ({first.rule}, line {first.line}), here or in a commit that the"
            " remote does not have; nothing was pushed.",
            take_back(),
            tuple(found.as_dict() for found in new),
        )


def _take_back(store: Store, commit: str) -> str:
    """Return what a person does about a secret in one of their commits ("": in which one is not known)."""
    allow = "For a false positive, add it to `secrets.allow`."
    found = objects.read(store.repository, [commit.encode()])[0] if commit else None
    if found is None or b"\nparent " not in found.content.partition(b"\n\n")[0]:
        return f"Revoke the secret, and write the commit that holds it anew without it. {allow}"
    return (
        f"Revoke the secret, then `git reset {commit[:10]}~1`: it takes back that commit and those after it, and leaves"
        " your files as they are. The next sync commits and sends them, without a file that still holds the secret."
        f" {allow}"
    )


def secrets_of_commits(store: Store, base: str, tip: str, folder: str) -> Iterator[tuple[str, list[Finding]]]:
    """Yield path (as git has it) and secrets of each version of a file in `folder` that came with a commit since `base`."""
    repo = store.repository
    paths = {
        oid: path
        for oid, path in introduced(repo, outgoing(repo, base, tip)).blobs.items()
        if path.startswith(f"{folder}/")
    }
    small = [oid for oid, size in sizes(repo, paths).items() if size <= LARGEST]
    for start in range(0, len(small), AT_ONCE):
        for oid, raw in blobs(repo, small[start : start + AT_ONCE]).items():
            found = new_secrets(store, base, paths[oid], raw)
            if found:
                yield paths[oid], found


def new_secrets(store: Store, theirs: str | None, path: str, raw: bytes) -> list[Finding]:
    """Return the secrets in these bytes of a file (a path as git has it) that the commit `theirs` does not have there."""
    text = _without_ids(raw)
    findings = find_secrets(text, store.allowed_secrets)
    known = _text_of_remote(store, theirs, path) if findings and theirs else ""
    return [found for found in findings if text[found.start : found.end] not in known]


def _text_of_remote(store: Store, theirs: str | None, path: str) -> str:
    repo = store.repository
    entry = objects.entries(repo, theirs, [path]).get(path)
    return blobs(repo, [entry.oid])[entry.oid].decode("utf-8", "replace") if entry else ""


def _without_ids(raw: bytes) -> str:
    """Return the text without the ids in its own fields, which look like tokens."""
    lines = raw.decode("utf-8", "replace").split("\n")
    plain = ("id: ", "source_id: ", "sources: ", "merged_from: ")
    inside = lines[:1] == ["---"]
    for number, line in enumerate(lines[1:], 1):
        if not inside or line == "---":
            break
        if line.startswith(plain):
            lines[number] = ""
    return "\n".join(lines)
