"""The derived index: catalog (SQLite), words (tantivy), vectors; a cache rebuilt from the files."""
