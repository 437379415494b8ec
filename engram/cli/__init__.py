"""The command line: translates arguments into use cases and answers into text or JSON, nothing else."""
