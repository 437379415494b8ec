"""Hints shared by several checks."""

MEND_LINK = "Correct the link, or write what it leads to."
NO_FIELDS = ("this file has no fields yet", "`engram adopt` gives it an id and a category.")
