"""Find entries by name or filter."""
