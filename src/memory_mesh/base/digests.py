"""SHA-256 and keyed digests (HMAC with SHA-256) without OpenSSL, whose loading costs 6 ms."""

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha256 import sha256  # until 3.11
    except ImportError:  # pragma: no cover  # a later Python
        try:
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["keyed_digest", "sha256"]
_BLOCK = 64
_INNER = bytes(value ^ 0x36 for value in range(256))
_OUTER = bytes(value ^ 0x5C for value in range(256))


def keyed_digest(key: bytes, message: bytes) -> bytes:
    """The 32 bytes that `hmac.digest(key, message, "sha256")` gives."""
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    block = key.ljust(_BLOCK, b"\0")
    inner = sha256(block.translate(_INNER) + message).digest()
    return sha256(block.translate(_OUTER) + inner).digest()
