"""This clone's private memory, never in git: sessions and their refs, votes already given, the live record."""
