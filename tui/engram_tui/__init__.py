"""The terminal app: browse, search and judge lore. `engram_tui.main.run(store)` opens it; nothing is loaded before."""
