"""Run one git command: environment, deadlines, configuration, the repository's layout, locks."""
