"""Rules of what may enter or leave a store: secrets, junk, unsafe paths, trust, permissions."""
