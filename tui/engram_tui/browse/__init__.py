"""All entries as a list, a search over them, filters, and one of them beside the list."""
