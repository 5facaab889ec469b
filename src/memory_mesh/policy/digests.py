"""SHA-256 without OpenSSL, whose loading costs a tenth of what a command may take.

Python's own implementation is used while little is hashed; where a process hashes much, or where
that implementation is not to be had, `hashlib`'s faster one takes over. Both say the same.
"""

from collections.abc import Callable
from typing import Any

_PATIENCE = 1_000  # calls after which the faster one pays for its loading
_BLOCK = 64  # bytes, of SHA-256
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


class _Sha256:
    """The 32 bytes of what it is called with; it changes its means, never its answer."""

    def __init__(self) -> None:
        self._make, self._left = _own(), _PATIENCE

    def __call__(self, data: bytes) -> bytes:
        self._left -= 1
        if not self._left:
            self._make = _faster()
        digest: bytes = self._make(data).digest()
        return digest


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    """RFC 2104 over SHA-256."""
    if len(key) > _BLOCK:
        key = sha256(key)
    key = key.ljust(_BLOCK, b"\0")
    return sha256(key.translate(_OUTER) + sha256(key.translate(_INNER) + data))


def _faster() -> Callable[[bytes], Any]:
    from hashlib import sha256 as faster

    return faster


def _own() -> Callable[[bytes], Any]:
    try:
        from _sha2 import sha256 as own  # type: ignore[import-not-found]  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256 as own  # type: ignore[import-not-found]  # Python 3.11
        except ImportError:
            return _faster()
    made: Callable[[bytes], Any] = own
    return made


sha256 = _Sha256()
