"""Secrets in what commits say and in the names of who made them: both leave with a push."""

from __future__ import annotations

from engram.adapters.git.read import objects
from engram.domain.admission.secrets import Finding, find_secrets
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

_PEOPLE = ("author ", "committer ")


def secret_in_commits(store: Store, commits: Sequence[str]) -> tuple[str, str, Sequence[Finding]] | None:
    """Return the first of these commits whose message or names hold a secret, where it is, and what was found."""
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
                return oid, what, secrets
    return None
