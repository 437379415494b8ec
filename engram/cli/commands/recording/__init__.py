"""Commands about recording."""
