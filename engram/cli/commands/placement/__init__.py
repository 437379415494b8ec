"""Commands about placement."""
