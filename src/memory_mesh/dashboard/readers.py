"""Who may look: whoever has the link that `memory-mesh ui` printed, or a key of the service."""

import hmac
import secrets
from collections.abc import Callable

import anyio.to_thread

from memory_mesh.base.typed import Any, Protocol
from memory_mesh.care import access_keys
from memory_mesh.dashboard.asked import PLACES, Reader, view_of
from memory_mesh.model import NotAllowed
from memory_mesh.platform.ports import is_loopback
from memory_mesh.sync import MemoryMesh


class Readers(Protocol):
    """Knows readers by the secret in their cookie."""

    by_key: bool  # they sign in with a key of the service, else with the link

    def check_host(self, host: str) -> None:
        """Raises NotAllowed for a request under a name that is not ours."""

    async def secret_of(self, given: str) -> str | None:
        """The secret for the cookie of who gives this token or key; None if it opens nothing."""

    async def reader(self, secret: str) -> Reader | None:
        """Whose cookie this is."""

    async def run(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # what it returns
        """What blocking work returns."""


class OwnerReaders(Readers):
    """The owner of a folder, on this machine: the token of the link is good for one sign-in."""

    by_key = False

    def __init__(self, mesh: MemoryMesh) -> None:
        """Take an open mesh, which stays the caller's to close."""
        self._owner = Owner(mesh)
        self._token: str | None = secrets.token_urlsafe(24)
        self._secret = secrets.token_urlsafe(32)

    @property
    def token(self) -> str | None:
        """What the link carries; None once it was used."""
        return self._token

    def check_host(self, host: str) -> None:
        """Only the names of this machine."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if not is_loopback(name.strip("[]")):
            raise NotAllowed("this page is for this machine: use the link that was printed")

    async def secret_of(self, given: str) -> str | None:
        """The secret, the first time that the token is given."""
        token = self._token
        if token is None or not hmac.compare_digest(given.encode(), token.encode()):
            return None
        self._token = None
        return self._secret

    async def reader(self, secret: str) -> Reader | None:
        """The owner."""
        known = hmac.compare_digest(secret.encode(), self._secret.encode())
        return self._owner if known else None

    async def run(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # what it returns
        """In a thread."""
        return await anyio.to_thread.run_sync(work)


class Owner(Reader):
    """May do everything in every namespace of the store."""

    name = "owner"

    def __init__(self, mesh: MemoryMesh) -> None:
        """Take the open store."""
        self._mesh = mesh

    def may(self, scope: str, namespace: str) -> bool:
        """Everything, except among the keys of the service."""
        del scope
        return namespace != access_keys.NAMESPACE

    def namespaces(self, after: str | None = None) -> list[str]:
        """Those of the store."""
        found = self._mesh.care.namespaces(after=after, limit=PLACES)
        return [name for name in found if name != access_keys.NAMESPACE]

    def view(self, namespace: str) -> MemoryMesh:
        """The memories, written as the user's own word."""
        return view_of(self._mesh, namespace)
