"""The search index: SQLite catalog, tantivy words, vectors; a cache rebuilt from the files."""
