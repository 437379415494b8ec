"""This clone and its remote become equal."""
