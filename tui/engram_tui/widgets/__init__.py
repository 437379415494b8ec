"""Lists, panes and comparisons that several screens share."""
