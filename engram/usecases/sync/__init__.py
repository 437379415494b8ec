"""Synchronize this clone with its remote."""
