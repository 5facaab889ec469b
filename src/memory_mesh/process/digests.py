"""Keyed digests (HMAC with SHA-256) without OpenSSL, whose loading costs a hook 6 ms of its 300."""

try:
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]  # until 3.11
except ImportError:  # pragma: no cover  # a later Python
    try:
        from _sha2 import sha256  # type: ignore[import-not-found, no-redef, unused-ignore]
    except ImportError:
        from hashlib import sha256

_BLOCK = 64
_INNER = bytes(value ^ 0x36 for value in range(256))
_OUTER = bytes(value ^ 0x5C for value in range(256))


def keyed_digest(key: bytes, message: bytes) -> bytes:
    """The 32 bytes that `hmac.digest(key, message, "sha256")` gives."""
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    block = key.ljust(_BLOCK, b"\0")
    inner = sha256(block.translate(_INNER) + message).digest()
    found: bytes = sha256(block.translate(_OUTER) + inner).digest()
    return found
