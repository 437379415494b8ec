"""SQLite, for untrusted SQL queries."""
