"""The use cases, a room for each subject; front ends only translate to and from them."""
