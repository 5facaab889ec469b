"""Converts between text and values, without I/O."""
