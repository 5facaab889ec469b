"""Pure codecs between text and values."""
