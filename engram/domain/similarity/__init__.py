"""Rules by which two texts say the same, contradict each other or neither."""
