"""One entry: its text, fields, links, history and versions; the form for a new one."""
