"""The base of all screens: the app, the frame, keys and actions, access to the store, undo, dialogs."""
