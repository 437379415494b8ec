"""Git: the only package that spells git commands or reads a repository's layout."""
