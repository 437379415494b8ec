"""Commands about review."""
