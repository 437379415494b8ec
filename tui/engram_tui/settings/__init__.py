"""Every setting, where its value comes from, and changing it."""
