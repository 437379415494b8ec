"""What may come in or go out: lore that arrives from elsewhere, secrets that would leave."""
