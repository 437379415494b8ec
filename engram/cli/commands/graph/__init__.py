"""Commands about graph."""
