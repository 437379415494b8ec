"""Entries: fields, categories, ids, times, confidence and its decay."""
