"""What makes two failures the same one."""

PATTERN_KEYS = ("error_pattern", "errorPattern", "error_code", "errorCode")  # in metadata
_LENGTH = 16


def pattern_id(error_pattern: str, applicable_scope: str) -> str:
    """RFC-0011 section 8.2: the first 16 hexadecimal digits of SHA-256 of both, put together."""
    import hashlib

    return hashlib.sha256((error_pattern + applicable_scope).encode()).hexdigest()[:_LENGTH]
