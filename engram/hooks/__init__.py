"""Lifecycle hooks: a coding agent's event as JSON on standard input, the answer in that agent's own schema."""
