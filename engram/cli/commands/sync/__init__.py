"""Commands about sync."""
