"""Which entries say the same, nearly the same, or the opposite."""
