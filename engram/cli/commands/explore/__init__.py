"""Commands about explore."""
