"""The first screen: all entries, a search over them, and one of them beside the list."""
