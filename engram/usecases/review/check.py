"""Whether lore can be let in: what a review of a pull request, or a look before a commit, needs to know.

Nothing is changed and nothing is looked for in a way of its own: what cannot be read is what the index cannot take,
secrets are those that no sync would push, duplicates and contradictions those of the review queue.
"""

from __future__ import annotations

from engram.adapters.files.places import CONFIG_NAME
from engram.domain.errors import UsageError
from engram.domain.similarity.equivalence import CONTRADICTION
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.outgoing_secrets import new_secrets, secrets_of_commits
from engram.usecases.graph.broken_links import bad_links
from engram.usecases.graph.entities import read_entities
from engram.usecases.index.index_query import consult
from engram.usecases.review.check_scope import at_paths, bytes_of, files_to_check, git_prefix
from engram.usecases.similarity.pairs import pairs
from engram.usecases.store.hints import MEND_LINK, NO_FIELDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.adapters.index.generation import Generation
    from engram.domain.admission.secrets import Finding
    from engram.usecases.review.check_scope import Checked
    from engram.usecases.store.store import Store

ERROR, WARNING = "error", "warning"
FILE, SECRET, SETTINGS, DUPLICATE, AGAINST, LINK, ADOPTION = (
    "file", "secret", "settings", "duplicate", "contradiction", "link", "adoption",
)  # fmt: skip
_RENEW = "Renew the secret and take it out, of history too; a false alarm goes into `secrets.allow`."


class Remark(NamedTuple):
    """Something to be seen to before lore is let in.

    `level` is `error` (it cannot be recalled, or must not be let in) or `warning`; `path` is a store path, `line` counts
    from 1 (0: of the whole file).
    """

    level: str
    kind: str
    path: str
    line: int
    message: str
    hint: str = ""


class Review(NamedTuple):
    """What a check found, errors first, and how many files it looked at; `prefix` is what git's paths have before these."""

    remarks: tuple[Remark, ...]
    files: int
    prefix: str = ""

    def count(self, level: str) -> int:
        """How many remarks are of this level."""
        return sum(remark.level == level for remark in self.remarks)


def check(store: Store, paths: Sequence[str] = (), since: str = "") -> Review:
    """Check the lore at or below `paths` (of the file system; none: all of the store).

    With `since` (a commit, branch or date) only what changed from there to the files as they are now; what the other
    branch got meanwhile is no change. Raises UsageError, NotFoundError for no such commit, GitError, StoreError.
    """
    repository = store.places.repository
    if since and repository is None:
        raise UsageError(
            "This store is a folder outside git, so nothing is known of its past.", "Leave out --since."
        )
    base = fork_of(repository, since) if repository is not None and since else ""
    checked = files_to_check(store, paths, base)
    with store.lock:
        found = consult(store, lambda generation: _found(store, generation, checked, base), thorough=True)
        found += _alike(store, set(checked.paths))
    found += _settings(store)
    if base and repository is not None:
        told, wanted = {one.path for one in found if one.kind == SECRET}, at_paths(store, paths)
        on_the_way = _in_commits(store, repository, base)
        found += [one for one in on_the_way if one.path not in told and wanted(one.path)]
    prefix = git_prefix(store, repository) if repository is not None else ""
    return Review(tuple(sorted(set(found), key=lambda one: (one.level, one[2:]))), len(checked.paths), prefix)


def fork_of(repository: Repository, since: str) -> str:
    """The commit at which the checked out branch left the one that `since` names; "" where nothing is committed yet.

    Raises NotFoundError, GitError.
    """
    from engram.adapters.git.read.revisions import resolve
    from engram.adapters.git.run import layout
    from engram.adapters.git.write import merging

    head = layout.read_head(repository).oid
    if head is None:
        return ""
    other = resolve(repository, since)
    common = merging.bases(repository, head, other)
    return common[0] if common else other


def _found(store: Store, generation: Generation, checked: Checked, base: str) -> list[Remark]:
    """What the files themselves show."""
    paths = set(checked.paths)
    hits = generation.catalog.select("1")
    secrets = list(_secrets(store, checked.paths, base))
    with_secret = {one.path for one in secrets}
    problems = [
        Remark(ERROR, FILE, one.path, one.line, one.message, one.hint)
        for one in (*generation.catalog.problems(), *read_entities(store).problems)
        if one.path in paths and not (one.path in with_secret and "looks like a secret" in one.message)
    ]
    links = [
        Remark(WARNING, LINK, one.path, one.line, one.message, MEND_LINK)
        for one in bad_links(store, generation, hits, paths, checked.gone)
    ]
    return [*secrets, *problems, *_twins(generation, paths), *links, *_to_adopt(generation, paths)]


def _secrets(store: Store, paths: Sequence[str], base: str) -> Iterator[Remark]:
    repository = store.places.repository
    prefix = git_prefix(store, repository) if repository is not None else ""
    for path in paths:
        raw = bytes_of(store, path)
        for found in new_secrets(store, base or None, prefix + path, raw) if raw else ():
            yield Remark(ERROR, SECRET, path, found.line, _says(found), _RENEW)


def _says(found: Finding) -> str:
    return f"this looks like a secret ({found.rule} {found.preview})"


def _twins(generation: Generation, paths: set[str]) -> Iterator[Remark]:
    """Files with the id of another one: it may be the one that was there before that is passed over."""
    query = "SELECT id, path FROM files"
    claims: dict[str, list[str]] = {}
    for lore_id, path in generation.catalog.where_in(query, "id", generation.catalog.twin_ids()):
        claims.setdefault(lore_id, []).append(path)
    passed_over = {one.path for one in generation.catalog.problems()}
    for lore_id, claiming in claims.items():
        for path in sorted(paths.intersection(claiming) - passed_over):
            other = min({*claiming} - {path})
            message = f"{other} has the id {lore_id} too, and only one of them can be recalled"
            yield Remark(ERROR, FILE, path, 0, message, "Delete one, or remove its id line.")


def _to_adopt(generation: Generation, paths: Collection[str]) -> list[Remark]:
    files = generation.catalog.select("adopted = 0")
    return [Remark(WARNING, ADOPTION, hit.path, 0, *NO_FIELDS) for hit in files if hit.path in paths]


def _alike(store: Store, paths: Collection[str]) -> list[Remark]:
    """Lore that say the same as another, or contradict it; of two that are checked the newer is remarked on."""
    if not paths:
        return []
    found = pairs(store)
    hits = {hit.id: hit for hit in consult(store, lambda generation: generation.catalog.select("1"))}
    remarks = []
    for pair in found:
        ends = [hits[lore_id] for lore_id in (pair.other, pair.one) if lore_id in hits]
        at = next((hit for hit in ends if hit.path in paths), None)
        if at is None or len(ends) < 2:
            continue
        other = ends[1] if at is ends[0] else ends[0]
        kind, says = (
            (AGAINST, "may contradict") if pair.kind == CONTRADICTION else (DUPLICATE, "may say the same as")
        )
        message = f"{says} '{other.title}' in {other.path}: {pair.why} (strength {pair.strength:.2f})"
        hint = "Keep one; where both are right, link them: a `relations:` entry of one names the other's id."
        remarks.append(Remark(WARNING, kind, at.path, 0, message, hint))
    return remarks


def _settings(store: Store) -> list[Remark]:
    """What of the store's own file cannot be used, or must not count before a person has said so."""
    broken = [Remark(ERROR, SETTINGS, CONFIG_NAME, 0, note, "Mend that line.") for note in store.notes]
    hint = "Whoever lets it in decides about this, too."
    return broken + [Remark(ERROR, SETTINGS, CONFIG_NAME, 0, one.message, hint) for one in store.held_back]


def _in_commits(store: Store, repository: Repository, base: str) -> Iterator[Remark]:
    """Secrets in versions of lore files between the commit and now, which a later commit may have taken out again."""
    from engram.adapters.git.run import layout

    head, prefix = layout.read_head(repository).oid, git_prefix(store, repository)
    for path, secrets in secrets_of_commits(store, base, head, prefix + store.places.folder) if head else ():
        message = f"a commit on the way here holds what looks like a secret in it ({secrets[0].rule})"
        yield Remark(ERROR, SECRET, path.removeprefix(prefix), 0, message, _RENEW)
