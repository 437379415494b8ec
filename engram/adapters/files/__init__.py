"""Lore files: codec, field-wise merge, atomic writes, journal, locks, the scan of the lore folder."""
