"""Find, make and open stores, their scopes and the session's own store."""
