"""Memory Lane's interface and its file."""
