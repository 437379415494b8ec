"""Rules of ranking: fusion, strength of an answer, budgets of tokens."""
