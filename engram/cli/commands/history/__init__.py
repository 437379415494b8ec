"""Commands about history."""
