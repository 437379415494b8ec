"""Who signed judgements: of each line, the signer of the commit that brought it to the branch, where signatures are demanded.

A name in a ledger, and a line in somebody else's, anyone can write who may push; a signature by a key that this person
knows, only its owner. What nobody signed moves the shared confidence as everywhere, and speaks for nobody.
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

# The note of the cache that has the commit up to which signatures were looked at, and the rule.
_UPTO = "signed"


def note_signers(store: Store, tip: str, rule: str) -> None:
    """Note who signed the lines that came to the branch up to a commit; `rule` differs whenever other keys count.

    Raises GitError, StoreError.
    """
    repo, upto = store.repository, store.judgements.meta(_UPTO)
    if upto == tip + rule:
        return
    known = upto.removesuffix(rule) if upto.endswith(rule) else ""
    if not known:
        store.judgements.forget_signers()
    try:
        written = ledger_branch.written_since(repo, known, tip, ledger.RESTORED)
    except GitError:  # the commit looked at last is gone: the branch was replaced
        written = ledger_branch.written_since(repo, "", tip, ledger.RESTORED)
    written = [one for one in written if ledger.source_of(one.path) and one.after]
    signers = _signers(store, [one.commit for one in written])
    found: dict[str, tuple[str, str, str]] = {}
    for one in written:
        if one.commit in signers:
            raw = ledger_branch.contents(repo, [oid for oid in (one.before, one.after) if oid])
            source = ledger.source_of(one.path) or ""
            before = {line.id for line in ledger.parse(raw.get(one.before, b""), source).judgements}
            for line in ledger.parse(raw[one.after], source).judgements:
                if line.id not in before:
                    found.setdefault(line.id, (line.id, line.entry, signers[one.commit]))
    store.judgements.sign(found.values())
    store.judgements.set_meta(_UPTO, tip + rule)


def signers_of(store: Store, lore: Lore, entries: Sequence[str]) -> Mapping[str, str]:
    """Return who signed the lines of these entries, by their ids, and by the id of `lore` who signed its words."""
    found = store.judgements.signers(entries)
    commit = store.state.trust.arrivals([lore.id]).get(lore.id)
    author = _signers(store, [commit] if commit else [])
    return found | dict.fromkeys([lore.id] if author else [], author.get(commit or "", ""))


def _signers(store: Store, commits: Iterable[str]) -> dict[str, str]:
    """Return who signed these commits by a key that is known to be theirs, or that the settings name."""
    accepted = store.settings.texts("trust.accept")
    return {
        oid: one.signer if one.state == GOOD and one.signer else one.key
        for oid, one in signatures_of(store, commits).items()
        if one.state == GOOD or is_vouched(one, accepted)
    }
