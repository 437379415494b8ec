"""Commands about upkeep."""
