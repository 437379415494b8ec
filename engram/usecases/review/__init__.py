"""The review queue and its decisions; checks before entries are admitted."""
