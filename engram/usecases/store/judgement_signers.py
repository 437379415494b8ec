"""Who signed judgements: the signer of the commit that brought each line to the branch, if signatures are required.

Anyone who may push can write any name in a ledger, and lines in the ledgers of others; only the owner of a key can sign
with it. Unsigned lines change the shared confidence like any other, but count as nobody's.
"""

from __future__ import annotations

from engram.adapters.git.write import ledger_branch
from engram.domain.admission.trust import GOOD, is_vouched
from engram.domain.errors import GitError
from engram.domain.judgements import ledger
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.signature_state import signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_CHECKED = "signed"  # the key in the cache of the last commit whose signatures were checked, and the rule


def note_signers(store: Store, tip: str, rule: str) -> None:
    """Store who signed the lines on the branch up to a commit; `rule` identifies the accepted keys.

    Raises GitError, StoreError.
    """
    repo, checked = store.repository, store.judgements.meta(_CHECKED)
    if checked == tip + rule:
        return
    known = checked.removesuffix(rule) if checked.endswith(rule) else ""
    if not known:
        store.judgements.forget_signers()
    try:
        written = ledger_branch.written_since(repo, known, tip, ledger.RESTORED)
    except GitError:  # the last commit checked is gone: the branch was replaced
        written = ledger_branch.written_since(repo, "", tip, ledger.RESTORED)
    changes = [change for change in written if ledger.source_of(change.path) and change.after]
    signers = _signers(store, [change.commit for change in changes])
    found: dict[str, tuple[str, str, str]] = {}
    for change in changes:
        if change.commit in signers:
            raw = ledger_branch.contents(repo, [oid for oid in (change.before, change.after) if oid])
            source = ledger.source_of(change.path) or ""
            before = {line.id for line in ledger.parse(raw.get(change.before, b""), source).judgements}
            for line in ledger.parse(raw[change.after], source).judgements:
                if line.id not in before:
                    found.setdefault(line.id, (line.id, line.entry, signers[change.commit]))
    store.judgements.sign(found.values())
    store.judgements.set_meta(_CHECKED, tip + rule)


def signers_of(store: Store, lore: Lore, entries: Sequence[str]) -> Mapping[str, str]:
    """Return the signers of the lines of these entries, by line id, and the signer of the text of `lore`, by its id."""
    found = store.judgements.signers(entries)
    commit = store.state.trust.arrivals([lore.id]).get(lore.id)
    signers = _signers(store, [commit] if commit else [])
    return {**found, lore.id: signers[commit]} if commit in signers else found


def _signers(store: Store, commits: Iterable[str]) -> dict[str, str]:
    """Return the signers of these commits, by commit; only those with a known key, or one that the settings accept."""
    accepted = store.settings.texts("trust.accept")
    return {
        oid: signature.signer if signature.state == GOOD and signature.signer else signature.key
        for oid, signature in signatures_of(store, commits).items()
        if signature.state == GOOD or is_vouched(signature, accepted)
    }
