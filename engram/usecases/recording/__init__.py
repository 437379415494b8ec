"""Write, edit, judge, promote and forget entries."""
