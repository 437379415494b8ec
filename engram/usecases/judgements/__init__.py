"""Judgements of entries: the ledger of this clone, those of others, and their sums."""
