"""A proposal, entry by entry: what each changes, and which of them come in."""
