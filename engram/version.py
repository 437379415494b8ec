"""The one place that says which version of Engram this is."""

__version__ = "0.1.0"
