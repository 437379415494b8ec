"""The command line: parse arguments, call a use case, print text or JSON."""
