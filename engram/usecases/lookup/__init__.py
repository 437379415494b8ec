"""From a name or a filter to entries."""
