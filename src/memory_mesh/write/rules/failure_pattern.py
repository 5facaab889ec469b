"""Computes the pattern id of a failure, and tells which statuses mean a failure."""

from memory_mesh.base.digests import sha256

PATTERN_KEYS = ("error_pattern", "errorPattern", "error_code", "errorCode")  # in metadata
_FAILED = (
    "aborted broken crash crashed error errored exception fail failed failing failure fatal "
    "timed_out timeout"
)
FAILED = frozenset(_FAILED.split())  # values of `status` in metadata
_LENGTH = 16


def is_failed(status: object) -> bool:
    """True if the `status` of a memory's metadata says that something failed."""
    return isinstance(status, str) and status.strip().casefold() in FAILED


def pattern_id(error_pattern: str, applicable_scope: str) -> str:
    """Returns the first 16 hexadecimal digits of SHA-256 of both (RFC-0011 section 8.2)."""
    return sha256((error_pattern + applicable_scope).encode()).hexdigest()[:_LENGTH]
