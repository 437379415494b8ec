"""Clone and move stores, list their scopes, sync them all."""
