"""What every screen of the app has: its frame, keys, list of actions, worker door, undo, themes and memory."""
