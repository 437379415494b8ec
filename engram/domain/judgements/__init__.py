"""What people and agents said of entries: the lines of the ledger, and what they add up to."""
