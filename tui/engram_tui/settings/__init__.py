"""All settings, where their values come from, and changing them."""
