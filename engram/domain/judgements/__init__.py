"""Judgements of entries: the lines of the ledger, and their sums."""
