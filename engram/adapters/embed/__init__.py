"""Embedding providers: text in, unit vectors out; over a network only where the person named an endpoint."""
