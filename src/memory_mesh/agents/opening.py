"""The stores that requests are about, opened once each, and a view of one for each request.

::

    request ── environment, cwd ──▶ Config ──▶ Store (one per settings) ──▶ MemoryMesh (a view)

A model takes a second to load. A request that cannot wait for it is answered by words alone while
the model is loaded in the background.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from memory_mesh import config as configuration
from memory_mesh.agents.request import LIBPQ
from memory_mesh.base.typed import TYPE_CHECKING, Any, fields, replace
from memory_mesh.config import Config
from memory_mesh.mesh.operations.projects import ProjectVerbs
from memory_mesh.mesh.store import Store
from memory_mesh.mesh.view import View, family
from memory_mesh.model import Channel, Closed, InvalidInput

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

MOST = 4  # open at a time
PATIENT_SECONDS = 1.0  # a request that waits so long waits for the model, too
_OF_A_VIEW = {"namespace", "agent_id", "project", "session", "origins"}
_FOLDERS = ("db_dir", "mirror_dir", "model_dir", "models_dir")
_OF_KEYS = ("HOME", "XDG_CONFIG_HOME", "APPDATA", "MEMORY_MESH_KEY_DIR")
_OF_SERVERS = (
    *("MEMORY_MESH_KEY_FILE", "MEMORY_MESH_KEY", "MEMORY_MESH_KEY_COMMAND", "PATH"),
    "MEMORY_MESH_ACCESS_KEY",
    *sorted(LIBPQ),
)
_OF_NAMES = (
    *("USERPROFILE", "USER", "LOGNAME", "USERNAME", "SUDO_USER"),
    *("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_CONFIG_GLOBAL"),
)


class Stores:
    """Open stores by their settings; the least recently used is closed when there are too many."""

    def __init__(
        self, *, embedder: bool = True, most: int = MOST, face: type[View] | None = None
    ) -> None:
        """Open nothing yet; without `embedder` no view has one, whatever the settings say.

        The views are of the class `face`, by default MemoryMesh; one of fewer verbs loads faster.
        """
        self._embedder, self._most, self._face = embedder, most, face
        self._open: OrderedDict[tuple[str, ...], Opened] = OrderedDict()
        self._lock = threading.Lock()
        self._here = threading.local()
        self._closed = False

    def mesh_for(
        self,
        request: Mapping[str, Any],
        *,
        channel: Channel,
        embedder: bool = True,
        session: str | None = None,
    ) -> "MemoryMesh":
        """The memories as a request's sender sees them, until the request is answered."""
        config = config_of(request, session=session)
        opened = self._borrowed(request, config)
        opened.note(config.namespace)
        meaning = embedder and self._embedder
        if meaning and _seconds(request) < PATIENT_SECONDS:
            meaning = opened.is_warm()
        mesh = opened.view(config, channel, meaning=meaning)
        cwd = str(request["cwd"])
        found = (
            family(ProjectVerbs, mesh).at(cwd) if cwd and "project" not in config.origins else None
        )
        if found is not None:
            mesh = opened.view(replace(config, project=found.name), channel, meaning=meaning)
        mesh._folder = cwd  # noqa: SLF001  # what memories cite is looked up there
        return mesh

    def warm(self, request: Mapping[str, Any]) -> None:
        """Opens the store of a request and loads its model, unless there shall be none."""
        config = config_of(request)
        opened = self._borrowed(request, config)
        opened.note(config.namespace)
        if self._embedder:
            opened.warm_up()

    @contextmanager
    def borrowing(self) -> Iterator[None]:
        """Keeps open what `mesh_for` opens in this thread until the end of the block."""
        borrowed: list[Opened] = []
        before, self._here.borrowed = getattr(self._here, "borrowed", None), borrowed
        try:
            yield
        finally:
            self._here.borrowed = before
            with self._lock:
                for opened in borrowed:
                    opened.users -= 1
            self._close_spare()

    @contextmanager
    def opened(self) -> Iterator[list["Opened"]]:
        """The stores that are open just now; none is closed within the block."""
        with self.borrowing():
            with self._lock:
                found = list(self._open.values())
                for opened in found:
                    opened.users += 1
            self._here.borrowed += found
            yield found

    def is_used(self) -> bool:
        """Whether a namespace was used since its last upkeep."""
        with self._lock:
            return any(opened.used for opened in self._open.values())

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            self._closed = True
            gone = list(self._open.values())
            self._open.clear()
        for opened in gone:
            opened.close()

    def _borrowed(self, request: Mapping[str, Any], config: Config) -> "Opened":
        whose = _whose(request, config)
        key = _key(config, whose)
        with self._lock:
            if self._closed:
                raise Closed
            opened = self._open.get(key)
            if opened is None:
                opened = self._open[key] = Opened(config, whose, self._face)
            self._open.move_to_end(key)
            borrowed: list[Opened] | None = getattr(self._here, "borrowed", None)
            if borrowed is not None:
                opened.users += 1
                borrowed.append(opened)
        return opened

    def _close_spare(self) -> None:
        """Closes the least recently used stores that nobody uses, as far as there are too many."""
        gone: list[Opened] = []
        with self._lock:
            for key, opened in list(self._open.items()):
                if len(self._open) <= self._most:
                    break
                if not opened.users:
                    gone.append(self._open.pop(key))
        for opened in gone:
            opened.close()


class Opened:
    """An open store, the namespaces used since its last upkeep, and whether its model is loaded."""

    def __init__(
        self, config: Config, environment: Mapping[str, str], face: type[View] | None = None
    ) -> None:
        self.store: Store = Store(config, environment=environment)
        self.users = 0  # requests that use it just now
        self.used: set[str] = set()
        self._config, self._face = config, face
        self._warm = False
        self._warming: threading.Thread | None = None

    def note(self, namespace: str) -> None:
        """Takes note that a namespace is used; whoever runs a service does its upkeep."""
        if self.store.remote is None:
            self.used.add(namespace)

    def view(self, config: Config, channel: Channel, *, meaning: bool = True) -> "MemoryMesh":
        """A view of the store, with the settings of one request."""
        face: Any = self._face or _every_verb()
        mesh: MemoryMesh = object.__new__(face)  # its constructor would open a store of its own
        View.__init__(mesh, self.store, config, channel, owner=False, meaning=meaning)
        return mesh

    def kept(self, namespace: str) -> "MemoryMesh":
        """A view for upkeep: nobody's word, so what is learned counts as read out of texts."""
        plain: dict[str, Any] = {
            "agent_id": configuration.NO_AGENT,
            "project": None,
            "session": None,
        }
        return self.view(replace(self._config, namespace=namespace, **plain), Channel.EXTRACTION)

    def is_warm(self) -> bool:
        """Whether the model is loaded; if not, a thread begins to load it."""
        if not self._warm and (self._warming is None or not self._warming.is_alive()):
            self._warming = threading.Thread(target=self.warm_up, name="memory-mesh warming")
            self._warming.start()
        return self._warm

    def warm_up(self) -> None:
        """Loads the model, once."""
        if not self._warm:
            self.store.warm_up()
        self._warm = True

    def close(self) -> None:
        """Close the store, after the thread that loads its model."""
        if self._warming is not None:
            self._warming.join()
        self.store.close()


def _every_verb() -> type[View]:
    from memory_mesh.sync import MemoryMesh

    return MemoryMesh


def config_of(request: Mapping[str, Any], *, session: str | None = None) -> Config:
    """The settings of a request's sender: environment, file, host."""
    cwd = str(request["cwd"])
    config = configuration.load(None, request["environment"])
    if config.store is None:
        config = configuration.load({"db_dir": request["store"]}, request["environment"])
    stated: dict[str, Any] = {
        name: Path(cwd, value) for name in _FOLDERS if (value := getattr(config, name)) is not None
    }
    if "agent_id" not in config.origins:
        stated["agent_id"] = request["host"]
    if session is not None:
        stated["session"] = session
    return replace(config, **stated)


def _seconds(request: Mapping[str, Any]) -> float:
    """How long the sender waits; without a word it waits."""
    given = request.get("seconds")
    return float(given) if isinstance(given, int | float) else PATIENT_SECONDS


def _whose(request: Mapping[str, Any], config: Config) -> dict[str, str]:
    """The variables that say where keys lie and, where names are replaced, what the user is called.

    A database that is opened with another key, or as another user, is another store.
    A repository may give its user a name of its own; that counts if names are replaced everywhere.
    """
    names = [*_OF_KEYS, *(() if config.own_names == "off" else _OF_NAMES)]
    if config.store is not None:
        names += _OF_SERVERS
    found = {name: request["environment"].get(name, "") for name in names}
    here = str(request["cwd"]) if config.own_names == "all" else "/"
    return {**{name: value for name, value in found.items() if value}, "PWD": here}


def _key(config: Config, whose: Mapping[str, str]) -> tuple[str, ...]:
    """What makes two stores different: every setting but those of a view, and whose they are."""
    names = [item.name for item in fields(config) if item.name not in _OF_A_VIEW]
    return (*(repr(getattr(config, name)) for name in names), repr(sorted(whose.items())))


# Answers a request: the one place that the daemon and the fronts without a daemon share.


Answers = Callable[[Stores, Mapping[str, Any]], dict[str, Any]]
_HOMES = {
    "hook": ("memory_mesh.agents.hook.events", "on_event"),
    "tool": ("memory_mesh.agents.mcp.tool_calls", "call_tool"),
    "resource": ("memory_mesh.agents.mcp.resources", "on_resource"),
    "prompt": ("memory_mesh.agents.mcp.resources", "on_prompt"),
    "search": ("memory_mesh.agents.searches", "on_search"),
    "follow": ("memory_mesh.agents.hosts.host_memory", "on_follow"),
}


def answer(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request, of whatever kind."""
    with stores.borrowing():
        return _answers(request.get("do"))(stores, request)


def _answers(do: object) -> Answers:
    if do == "warm":
        return _warm
    if do not in _HOMES:
        raise InvalidInput(f"do must be one of {', '.join((*_HOMES, 'warm'))}, not {do!r}")
    module, name = _HOMES[str(do)]
    answers: Answers = getattr(import_module(module), name)
    return answers


def _warm(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Opens the store and loads the model, so that the next request need not wait for either."""
    stores.warm(request)
    return {}
