"""Several versions become one: of an entry, of a tree, of two commits; and the git merge driver."""
