"""Bounds within which ranking may learn."""
