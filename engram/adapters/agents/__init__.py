"""What Engram knows of coding agents: how to tell which one is calling, and in which session."""
