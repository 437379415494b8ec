"""Questions about the whole memory: levels, SQL, groups, figures."""
