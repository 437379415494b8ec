"""The index follows the files: scans, refreshes, rebuilds, and questions to it."""
