"""Entities, agents' profiles and links: what entries are about and how that is related."""
