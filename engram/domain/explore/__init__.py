"""Tables, figures and metrics that describe a whole memory."""
