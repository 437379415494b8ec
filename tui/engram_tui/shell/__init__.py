"""What every screen of the app has: the app itself, the frame, keys and actions, access to the store, undo, dialogs."""
