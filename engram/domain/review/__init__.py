"""The review queue, and the evidence that an entry no longer fits its code."""
