"""One entry with all its fields, links, history and queries."""
