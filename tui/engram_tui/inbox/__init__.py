"""The items that wait for a person, their decisions, and the merge editor."""
