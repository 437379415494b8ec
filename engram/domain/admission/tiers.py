"""How far an entry can be trusted by its origin, as one word and a reason, shown to people and agents.

An entry gets at most the tier that it claims, since agents and clones can write anything into a file. Synced entries
are foreign until a known key vouches for them, or somebody here confirms them.
"""

from __future__ import annotations

import re

from engram.domain.admission.trust import BAD, GOOD, Signature
from engram.domain.entry.lore import PENDING, Lore
from engram.domain.entry.people import byline
from engram.domain.typed import NamedTuple

HUMAN, AGENT, IMPORT, FOREIGN, QUARANTINED = TIERS = ("human", "agent", "import", "foreign", "quarantined")
_MAX_NAME_LENGTH = 40
BY_HAND = "written by hand"
_IMPORTED = ("Imported from ", "Extracted from ")
_PEOPLE = ("", "human")


class Tier(NamedTuple):
    """One of `TIERS`, which begin with the most trusted, and a reason, which contains no text of the entry but plain names."""

    tier: str
    reason: str

    @property
    def is_checked(self) -> bool:
        """Whether it was written or confirmed in this clone, or a known key vouches for it."""
        return self.tier in (HUMAN, AGENT)


def is_imported(lore: Lore) -> bool:
    """Return whether an entry was imported: from notes, a transcript, or an export."""
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
    """Return the tier of an entry in the clone `own_source`.

    `signature` is that of the commit that brought its text, if known; `arrived` says that a sync brought it, `held`
    that it waits here for a person, `confirmed` that it was confirmed here with this text.
    """
    if held or lore.status == PENDING:
        return Tier(QUARANTINED, "waits until a person accepts it")
    is_foreign = lore.source_id != own_source if lore.source_id else arrived
    who = writer(lore, is_own=not is_foreign)
    if is_foreign:
        voucher = _voucher(signature, confirmed=confirmed)
        origin = f"{who}, another clone"
        if not voucher:
            return Tier(
                FOREIGN, f"{origin}, bad signature" if signature and signature.state == BAD else origin
            )
        return Tier(_writer_tier(lore), f"{origin}, {voucher}")
    if is_imported(lore):
        return Tier(IMPORT, f"{who}, taken from elsewhere")
    return Tier(_writer_tier(lore), who if lore.source_id or lore.agent else BY_HAND)


def writer(lore: Lore, *, is_own: bool) -> str:
    """Return who claims to have recorded an entry, as plain names that cannot carry any other text.

    For an entry of this clone the user whom the agent worked for is left out, since they are the reader.
    """
    agent = " ".join(re.findall(r"[\w.@+-]+", lore.agent))[:_MAX_NAME_LENGTH].strip()
    return agent if is_own and agent not in _PEOPLE else byline(agent, lore.author)


def _writer_tier(lore: Lore) -> str:
    return HUMAN if lore.agent in _PEOPLE else AGENT


def _voucher(signature: Signature | None, *, confirmed: bool) -> str:
    """Return who vouches for an entry of another clone; "" if nobody does."""
    if signature is not None and signature.state == GOOD:
        return "signed by a known key"
    return "confirmed here" if confirmed else ""
