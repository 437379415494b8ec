"""Entities, agents and the graph that entries and entities make."""
