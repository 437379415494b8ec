"""A guarded SQLite connection for SQL that people and agents write."""
