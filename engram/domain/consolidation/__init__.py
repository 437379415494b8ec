"""Consolidation plans and the usefulness of entries, as values."""
