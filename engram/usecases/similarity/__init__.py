"""Find entries that say the same, nearly the same, or the opposite."""
