"""A sync's plan, as a value."""
