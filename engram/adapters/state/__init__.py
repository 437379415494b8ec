"""What is private to this clone and never in git: sessions and their refs, own votes, the activity log."""
