"""Checks of incoming and outgoing lore: quarantine, secrets."""
