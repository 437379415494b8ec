"""Commands about merge."""
