"""Words, prose and markdown; text made safe for a screen."""
