"""Commands about store."""
