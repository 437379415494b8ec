"""The tables of actions: one module for each screen, and one for what goes everywhere."""
