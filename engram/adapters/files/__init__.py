"""Lore files: the codec, atomic writes, the write journal, locks, the scan of the lore folder."""
