"""Merge two versions of a file, as bytes."""
