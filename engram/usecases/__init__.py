"""What Engram does, a room for each subject; front ends only translate to and from it."""
