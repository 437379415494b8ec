"""Text put before a model: framed as data, made harmless, packed into a budget."""
