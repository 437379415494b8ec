"""Keep a store healthy: diagnosis, maintenance, work in the background."""
