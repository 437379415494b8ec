"""State private to this clone, never in git: sessions and their refs, own votes, the activity log."""
