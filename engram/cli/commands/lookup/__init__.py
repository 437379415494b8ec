"""Commands about lookup."""
