"""Things that hear of every write, at least once, from their own cursor."""
