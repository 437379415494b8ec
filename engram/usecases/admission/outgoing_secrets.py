"""The last check before lore leaves this machine: no secret goes to a remote, neither in files nor in history."""

from __future__ import annotations

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, introduced, outgoing, sizes
from engram.domain.admission.secrets import find_secrets
from engram.domain.errors import SecretFoundError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from engram.domain.admission.secrets import Finding
    from engram.usecases.store.store import Store

AT_ONCE = 500
_PEOPLE = ("author ", "committer ")
LARGEST = 1024 * 1024  # bytes; larger files are not text that a person wrote


def check_outgoing(
    store: Store,
    theirs: str | None,
    ours: str,
    report: Callable[[int, int], None] | None = None,
    made: Mapping[str, Mapping[str, bytes]] | None = None,
    clean: Collection[str] = (),
    known: Mapping[str, bytes] | None = None,
) -> list[str]:
    """Search every file content that `ours` has and `theirs` has not for secrets, and return the commits searched.

    Commits that are known to be `clean` are left out. `made` has, by commit and path, the contents that are new with the
    merges of this sync; `known` has contents that need not be read, by object id.
    `report` receives how many files are done, of how many; an exception it raises ends the search. A secret that the remote
    has in its own file at that path is no reason to refuse. Raises SecretFoundError.
    """
    repo = store.repository
    made = made or {}
    for path, raw in (item for contents in made.values() for item in contents.items()):
        if len(raw) <= LARGEST:
            _check(store, theirs, path, raw)
    commits = [oid for oid in outgoing(repo, theirs, ours) if oid not in made and oid not in clean]
    _check_commits(store, commits)
    paths = introduced(repo, commits)
    _check_names(store, paths.values())
    small = [oid for oid, size in sizes(repo, paths, known).items() if size <= LARGEST]
    for start in range(0, len(small), AT_ONCE):
        if report is not None:
            report(start, len(small))
        for oid, raw in blobs(repo, small[start : start + AT_ONCE], known).items():
            _check(store, theirs, paths[oid], raw)
    return commits


def _check_commits(store: Store, commits: Sequence[str]) -> None:
    """Search what commits say, and the names of who made them."""
    read = objects.read(store.repository, [oid.encode() for oid in commits])
    for oid, found in zip(commits, read, strict=True):
        if found is None:
            continue
        head, _, message = found.content.decode("utf-8", "replace").partition("\n\n")
        people = [
            line.partition(" ")[2].rpartition("> ")[0]
            for line in head.split("\n")
            if line.startswith(_PEOPLE)
        ]
        for text, what in ((message, "message"), ("\n".join(people), "author's name")):
            secrets = find_secrets(text, store.allowed_secrets)
            if secrets:
                raise _refused(
                    f"The {what} of commit {oid[:10]}",
                    secrets,
                    "Write that commit anew (`git commit --amend`, `git rebase`)",
                )


def _check_names(store: Store, paths: Iterable[str]) -> None:
    for path in paths:
        secrets = find_secrets(path, store.allowed_secrets)
        if secrets:
            raise _refused(
                "The name of a file in a commit that the remote does not have",
                secrets,
                "Rename the file, in the history too",
            )


def _refused(what: str, found: Sequence[Finding], do: str) -> SecretFoundError:
    return SecretFoundError(
        f"{what} holds what looks like a secret ({found[0].rule} {found[0].preview}); nothing was pushed.",
        f"Revoke the secret. {do}, or add a false positive to `secrets.allow`.",
        tuple(one.as_dict() for one in found),
    )


def _check(store: Store, theirs: str | None, path: str, raw: bytes) -> None:
    new = new_secrets(store, theirs, path, raw)
    if new:
        first = new[0]
        raise SecretFoundError(
            f"{path} holds what looks like a secret ({first.rule}, line {first.line}), here or in a commit that the"
            " remote does not have; nothing was pushed.",
            "Revoke the secret and remove it, from the history too; add a false positive to `secrets.allow`.",
            tuple(found.as_dict() for found in new),
        )


def secrets_of_commits(store: Store, base: str, tip: str, folder: str) -> Iterator[tuple[str, list[Finding]]]:
    """Yield path (as git has it) and secrets of each version of a file in `folder` that came with a commit since `base`."""
    repo = store.repository
    paths = {
        oid: path
        for oid, path in introduced(repo, outgoing(repo, base, tip)).items()
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
