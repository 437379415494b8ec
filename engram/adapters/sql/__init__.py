"""SQLite, for questions that strangers ask in SQL."""
