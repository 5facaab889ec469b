"""Computes the pattern id of a failure."""

PATTERN_KEYS = ("error_pattern", "errorPattern", "error_code", "errorCode")  # in metadata
_LENGTH = 16


def pattern_id(error_pattern: str, applicable_scope: str) -> str:
    """Returns the first 16 hexadecimal digits of SHA-256 of both (RFC-0011 section 8.2)."""
    import hashlib

    return hashlib.sha256((error_pattern + applicable_scope).encode()).hexdigest()[:_LENGTH]
