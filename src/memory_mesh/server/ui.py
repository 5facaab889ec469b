"""The page in the service, at /ui: its keys sign in, and see what the routes would tell them."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.types import ASGIApp

from memory_mesh.base.typed import Any
from memory_mesh.care import access_keys
from memory_mesh.care.access_keys import ADMIN, EVERYWHERE, READ
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.asked import PLACES, Reader
from memory_mesh.dashboard.readers import Readers
from memory_mesh.model import NotAllowed
from memory_mesh.model.care import AccessKey
from memory_mesh.rules.arguments import user_namespace
from memory_mesh.server.app import Service
from memory_mesh.server.problems import Problem
from memory_mesh.sync import MemoryMesh

PATH = "/ui"
_FIRST = "default"


def page(service: Service) -> ASGIApp:
    """The application of the page for the keys of a service."""
    made: Starlette = Dashboard(KeyReaders(service), PATH).application()
    return made


class KeyReaders(Readers):
    """Who has a key of the service; the cookie holds it, so that any process knows its reader."""

    by_key = True

    def __init__(self, service: Service) -> None:
        """Take the service."""
        self._service = service

    def check_host(self, host: str) -> None:
        """Any name that leads here."""

    async def secret_of(self, given: str) -> str | None:
        """The key itself, if it opens anything."""
        return given if await self.reader(given) is not None else None

    async def reader(self, secret: str) -> Reader | None:
        """The holder of the key."""
        try:
            key = await self._service.key_of(f"Bearer {secret}")
        except Problem as problem:
            if problem.status == 401:  # noqa: PLR2004  # no such key, or it is over
                return None
            raise NotAllowed(problem.said) from None
        return KeyHolder(self._service, key)

    async def run(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # what it returns
        """In a thread of the service, for as long as it gives an operation."""
        try:
            return await self._service.in_thread(work)
        except Problem as problem:
            raise NotAllowed(problem.said) from None


class KeyHolder(Reader):
    """May do what the grants of the key say, and speaks as it does."""

    def __init__(self, service: Service, key: AccessKey) -> None:
        """Take the service and its key."""
        self._service, self._key = service, key
        self.name = key.name

    def may(self, scope: str, namespace: str) -> bool:
        """Whether a grant says so."""
        try:
            access_keys.check(self._key, scope, namespace)
        except NotAllowed:
            return False
        return True

    def namespaces(self, after: str | None = None) -> list[str]:
        """Those that the grants name, and all for a key that may list them."""
        named = [place for place in self._key.grants if "*" not in place]
        found = {user_namespace(each[5:]) if each.startswith("user:") else each for each in named}
        if self.may(ADMIN, EVERYWHERE):  # as the route of this operation
            whole = self._service.view(self._key, {}, _FIRST)
            found |= set(whole.care.namespaces(after=after, limit=PLACES))
        elif EVERYWHERE in self._key.grants:
            found.add(_FIRST)
        return sorted(each for each in found if self.may(READ, each))

    def view(self, namespace: str) -> MemoryMesh:
        """The memories of a namespace, as the key's requests see them."""
        return self._service.view(self._key, {}, namespace)
