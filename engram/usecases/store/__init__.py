"""One open store: its places, settings and parts; safe changes to its files, and their commits."""
