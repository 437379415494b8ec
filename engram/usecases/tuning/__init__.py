"""Ranking learns from judged queries, in bounded steps that can be taken back."""
