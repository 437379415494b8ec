"""Embedding providers: text in, unit vectors out; a network only where the user configured an endpoint."""
