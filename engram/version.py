"""The version of Engram."""

__version__ = "0.1.0"
