"""Lifecycle hooks of coding agents: an event comes in as JSON, the answer goes out in that agent's own schema."""
