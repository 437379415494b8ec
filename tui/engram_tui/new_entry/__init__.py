"""The form that records a new entry."""
