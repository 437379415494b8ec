"""Foreign documents: where to cut them, what category they have."""
