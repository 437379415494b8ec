"""Entities, agents' profiles, and links between entries."""
