"""Commands about recall."""
