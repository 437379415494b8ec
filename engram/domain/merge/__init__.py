"""Rules by which two versions of an entry, entity or agent's profile become one."""
