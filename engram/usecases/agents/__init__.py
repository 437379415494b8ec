"""Coding agents: briefs, automatic recall, captured sessions, connections."""
