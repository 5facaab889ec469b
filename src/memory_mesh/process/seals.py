"""Seals on what a store exports: they show that a store of the same user wrote it.

A seal is a keyed digest and the id of its key. The keys of all stores of a user lie in one folder
that nobody else can read, so a seal of any of them is known here, and nobody else can make one. A
seal belongs to the user of the store (`for_user`) whose memories were exported.
"""

import hmac
from pathlib import Path

from memory_mesh.process.keys import KeyFile, keys_in


class ExportSeals:
    """Makes and checks seals; the keys are read when the first is needed."""

    def __init__(self, folder: Path, owner: str | None) -> None:
        """Keep the folder of the store, and the user whose memories they are, if any."""
        self._folder, self._owner = folder, owner or ""
        self._known: dict[str, list[bytes]] | None = None

    def seal(self, text: str) -> str:
        """Returns the seal of a text under the key that the store uses now."""
        key = KeyFile.of(self._folder).newest
        return f"{key.id}:{_digest(key.secret, self._owner, text).hex()}"

    def fits(self, text: str, seal: str) -> bool:
        """True if a store of this user sealed exactly this text."""
        id_, _, stated = seal.partition(":")
        return any(
            hmac.compare_digest(_digest(secret, self._owner, text).hex().encode(), stated.encode())
            for secret in self._keys().get(id_, ())
        )

    def _keys(self) -> dict[str, list[bytes]]:
        """Every key of every store of this user, by its id."""
        if self._known is None:
            own = KeyFile.of(self._folder)
            self._known = {}
            for path in {own.path, *own.path.parent.glob("*.key")}:
                for key in keys_in(path):
                    self._known.setdefault(key.id, []).append(key.secret)
        return self._known


def _digest(secret: bytes, owner: str, text: str) -> bytes:
    sealed = f"export\0{owner}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.digest(secret, sealed, "sha256")
