"""Embedding providers: text in, unit vectors out; over a network only if the user configured an endpoint."""
