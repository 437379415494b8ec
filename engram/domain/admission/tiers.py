"""How far an entry may be trusted by its origin, as one word and a reason, shown to every reader and agent.

The word is the entry's own claim, or less: agents and clones write what they like into a file. What came by a sync
counts as foreign until a known key vouches for it, or somebody here confirmed it.
"""

from __future__ import annotations

import re

from engram.domain.admission.trust import BAD, GOOD, Signature
from engram.domain.entry.lore import PENDING, Lore
from engram.domain.entry.people import byline
from engram.domain.typed import NamedTuple

HUMAN, AGENT, IMPORT, FOREIGN, QUARANTINED = TIERS = ("human", "agent", "import", "foreign", "quarantined")
_LONGEST_NAME = 40
BY_HAND = "written by hand"
_IMPORTED = ("Imported from ", "Extracted from ")
_PEOPLE = ("", "human")


class Tier(NamedTuple):
    """One of `TIERS`, the most trusted first, and why, in words that hold nothing from the entry but a plain name."""

    tier: str
    reason: str

    @property
    def is_checked(self) -> bool:
        """Whether somebody of this clone has written it, or vouches for it."""
        return self.tier in (HUMAN, AGENT)


def is_imported(lore: Lore) -> bool:
    """Return whether an entry was taken from elsewhere: from notes, a transcript, or an export."""
    return any(text.startswith(_IMPORTED) for text in lore.context) or "IMPORTED" in lore.accounts


def tier_of(
    lore: Lore,
    own_source: str,
    *,
    signature: Signature | None = None,
    arrived: bool = False,
    held: bool = False,
    confirmed: bool = False,
) -> Tier:
    """Return the tier of an entry, seen from the clone `own_source`.

    `signature` is that of the commit which brought its text, if known; `arrived` that a sync brought it; `held`
    that it waits here until a person accepts it; `confirmed` that somebody here confirmed it with this text.
    """
    if held or lore.status == PENDING:
        return Tier(QUARANTINED, "waits until a person accepts it")
    is_foreign = lore.source_id != own_source if lore.source_id else arrived
    who = writer(lore, is_own=not is_foreign)
    if is_foreign:
        voucher = _voucher(signature, confirmed=confirmed)
        words = f"{who}, another clone"
        if not voucher:
            return Tier(FOREIGN, f"{words}, bad signature" if signature and signature.state == BAD else words)
        return Tier(_by_writer(lore), f"{words}, {voucher}")
    if is_imported(lore):
        return Tier(IMPORT, f"{who}, taken from elsewhere")
    return Tier(_by_writer(lore), who if lore.source_id or lore.agent else BY_HAND)


def writer(lore: Lore, *, is_own: bool) -> str:
    """Return who claims to have recorded an entry, as plain names that cannot carry any other text.

    For whom an agent did is left out of an entry of this clone: it is the person who reads it.
    """
    agent = " ".join(re.findall(r"[\w.@+-]+", lore.agent))[:_LONGEST_NAME].strip()
    return agent if is_own and agent not in _PEOPLE else byline(agent, lore.author)


def _by_writer(lore: Lore) -> str:
    return HUMAN if lore.agent in _PEOPLE else AGENT


def _voucher(signature: Signature | None, *, confirmed: bool) -> str:
    """Return who vouches for an entry from elsewhere; "" for nobody."""
    if signature is not None and signature.state == GOOD:
        return "signed by a known key"
    return "confirmed here" if confirmed else ""
