"""Whole namespace files: copied, erased, rebuilt, and salvaged page by page."""
