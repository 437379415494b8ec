"""The history of entries, from git; undo."""
