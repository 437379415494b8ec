"""One module per thing Engram does; front ends translate to and from these and nothing else."""
