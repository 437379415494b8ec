"""What waits for a person, and what a person decided; checks before entries are let in."""
