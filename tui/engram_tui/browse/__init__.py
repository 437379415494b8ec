"""A list of all entries with search and filters, and the entry under the cursor beside it."""
