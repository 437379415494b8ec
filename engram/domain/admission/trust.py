"""Decide by signatures and sources which incoming entries are quarantined until a person accepts them."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

NONE, UNSIGNED, FOREIGN = HOLDS = ("none", "unsigned", "foreign")
GOOD, UNKNOWN_KEY, UNCHECKED, BAD, NOT_SIGNED = "good", "unknown-key", "unchecked", "bad", "none"
# Git's codes for the state of a signature (gitglossary, pretty-formats: %G?).
STATES = {
    "G": GOOD,
    "U": UNKNOWN_KEY,
    "E": UNCHECKED,
    "B": BAD,
    "N": NOT_SIGNED,
    "X": "expired",
    "Y": "expired-key",
    "R": "revoked-key",
}
_STATE_PHRASES = {
    GOOD: "signed",
    UNKNOWN_KEY: "signed with a key that is not known to be anybody's",
    UNCHECKED: "signed, but that cannot be checked here",
    BAD: "signed by nobody: the signature is bad",
    NOT_SIGNED: "not signed",
    "expired": "signed, but the signature has expired",
    "expired-key": "signed with a key that has expired",
    "revoked-key": "signed with a key that was revoked",
}


class Signature(NamedTuple):
    """A commit's signature: a state of `STATES`, the key's fingerprint, and the signer according to git."""

    state: str
    key: str = ""
    signer: str = ""

    @property
    def sentence(self) -> str:
        """The signature in words."""
        who = " ".join(part for part in (self.signer, self.key) if part)
        return _STATE_PHRASES.get(self.state, self.state) + (f" ({who})" if who else "")


def quarantine_reason(
    hold: str, accepted: Collection[str], source: str, signatures: Sequence[Signature]
) -> str:
    """Return why new text from commits with these signatures is quarantined; "" if it is not.

    `hold` is one of `HOLDS`; `accepted` are fingerprints, addresses and, for `foreign`, source ids; `source` is the id
    of the clone that the entry claims to be recorded by, which is not proved.
    """
    if hold not in (UNSIGNED, FOREIGN):
        return ""
    strangers = [signature for signature in signatures if not is_vouched(signature, accepted)]
    if signatures and not strangers:
        return ""
    if hold == FOREIGN:
        return "" if source in accepted else "it comes from another clone"
    unproved = [signature for signature in strangers if signature.state != GOOD]
    if signatures and not unproved:
        return ""
    return f"its last change is {unproved[0].sentence}" if unproved else "nothing is known of its last change"


def is_vouched(signature: Signature, accepted: Collection[str]) -> bool:
    """Return whether `accepted` contains the key, or the signer's address as verified by git."""
    if signature.state not in (GOOD, UNKNOWN_KEY) or not accepted:
        return False
    if signature.key and signature.key in accepted:
        return True
    address = signature.signer.rpartition("<")[2].rstrip(">")
    return signature.state == GOOD and bool(address) and address in accepted
