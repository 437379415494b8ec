"""Embedding providers: text in, unit vectors out; never over the network."""
