"""Check outgoing commits for secrets: none may reach a remote, neither in files nor in history."""

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
LARGEST = 1024 * 1024  # bytes; larger files were not written by a person


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
    """Search all file contents that `ours` adds to `theirs` for secrets, and return the commits searched.

    Commits in `clean` are skipped. `made` has the new contents of merges made by this sync, by commit and path; `known`
    has contents already read, by object id; `changed` has all differences between `theirs` and `ours`, which suffice
    if there is only one commit.
    `report` receives the number of files done and the total; an exception it raises ends the search. Secrets that the
    remote's file at the same path contains are ignored. Raises SecretInCommitError: Engram does not rewrite the commits
    of a person.
    """
    repo = store.repository
    made = made or {}
    for path, raw in (item for contents in made.values() for item in contents.items()):
        if len(raw) <= LARGEST:
            _check_content(store, theirs, path, raw, lambda: "")
    commits = [oid for oid in outgoing(repo, theirs, ours) if oid not in made and oid not in clean]
    found = secret_in_commits(store, commits)
    if found is not None:
        oid, what, secret = found
        raise _secret_error(f"The {what} of commit {oid[:10]}", secret, _removal_hint(store, oid))
    if changed is not None and commits == [ours]:
        paths, added = introduced_by_one(changed, ours)
    else:
        paths, added = introduced(repo, commits)
    _check_names(store, added)

    def hint_for(oid: str) -> str:
        return _removal_hint(store, introducing(repo, commits, oid))

    small = [oid for oid, size in sizes(repo, paths, known).items() if size <= LARGEST]
    for start in range(0, len(small), AT_ONCE):
        if report is not None:
            report(start, len(small))
        for oid, raw in blobs(repo, small[start : start + AT_ONCE], known).items():
            _check_content(store, theirs, paths[oid], raw, partial(hint_for, oid))
    return commits


def _check_names(store: Store, added: Mapping[str, str]) -> None:
    for path, commit in added.items():
        secrets = find_secrets(path, store.allowed_secrets)
        if secrets:
            what = "The name of a file in a commit that the remote does not have"
            raise _secret_error(what, secrets, _removal_hint(store, commit))


def _secret_error(what: str, found: Sequence[Finding], hint: str) -> SecretInCommitError:
    return SecretInCommitError(
        f"{what} holds what looks like a secret ({found[0].rule} {found[0].preview}); nothing was pushed.",
        hint,
        tuple(finding.as_dict() for finding in found),
    )


def _check_content(store: Store, theirs: str | None, path: str, raw: bytes, hint: Callable[[], str]) -> None:
    new = new_secrets(store, theirs, path, raw)
    if new:
        first = new[0]
        raise SecretInCommitError(
            f"{path} holds what looks like a secret ({first.rule}, line {first.line}), here or in a commit that the"
            " remote does not have; nothing was pushed.",
            hint(),
            tuple(finding.as_dict() for finding in new),
        )


def _removal_hint(store: Store, commit: str) -> str:
    """Return a hint on how to remove a secret from a commit of one's own (`commit` "": not known which)."""
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
    """Yield git's path and the secrets of each version of a file in `folder` that commits since `base` added."""
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
    """Return the secrets in a file's content that the file at `path` (git's) in the commit `theirs` does not contain."""
    text = _without_ids(raw)
    findings = find_secrets(text, store.allowed_secrets)
    known = _text_of_remote(store, theirs, path) if findings and theirs else ""
    return [found for found in findings if text[found.start : found.end] not in known]


def _text_of_remote(store: Store, theirs: str | None, path: str) -> str:
    repo = store.repository
    entry = objects.entries(repo, theirs, [path]).get(path)
    return blobs(repo, [entry.oid])[entry.oid].decode("utf-8", "replace") if entry else ""


def _without_ids(raw: bytes) -> str:
    """Return the text without the ids in its fields, which look like tokens."""
    lines = raw.decode("utf-8", "replace").split("\n")
    id_fields = ("id: ", "source_id: ", "sources: ", "merged_from: ")
    inside = lines[:1] == ["---"]
    for number, line in enumerate(lines[1:], 1):
        if not inside or line == "---":
            break
        if line.startswith(id_fields):
            lines[number] = ""
    return "\n".join(lines)
