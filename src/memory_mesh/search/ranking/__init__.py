"""How candidates are scored and ordered."""
