"""Files that belong to other programs: agents' configuration, exports of memory tools."""
