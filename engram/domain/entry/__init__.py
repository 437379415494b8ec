"""What an entry is: fields, categories, ids, times, confidence and its decay."""
