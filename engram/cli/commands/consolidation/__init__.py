"""Commands about consolidation."""
