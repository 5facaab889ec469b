"""`MemoryMesh`, blocking and thread-safe: what most programs use, and the families beside it.

A family, such as `mesh.lessons`, is loaded when it is first used. Names that RFC-0011 and 001 fix
for operations of a family work on the mesh itself, too; `dir` and `help` leave them out. The async
twin `memory_mesh.MemoryMesh` is in async_mesh.py.
"""

from os import PathLike
from pathlib import Path
from types import TracebackType

from memory_mesh import config as configuration
from memory_mesh.base.typed import Self, Unpack
from memory_mesh.mesh.document_names import DocumentNames, ShownNames
from memory_mesh.mesh.operation import constructor
from memory_mesh.mesh.operations.context import ContextVerbs, ExplainVerbs, InjectionVerbs
from memory_mesh.mesh.operations.transfer import TransferVerbs
from memory_mesh.mesh.options import MeshOptions
from memory_mesh.mesh.store import Store
from memory_mesh.model import (
    Channel,
    Scope,
)
from memory_mesh.rules.arguments import check_plain_namespace, user_namespace


class MemoryMesh(
    TransferVerbs, ContextVerbs, ExplainVerbs, InjectionVerbs, DocumentNames, metaclass=ShownNames
):
    """Long-term memory in one namespace of one store, shared by any number of processes.

        with MemoryMesh() as mesh:
            mesh.add("The user prefers dark themes")
            print(mesh.search("dark themes"))

    Write: add, add_many, update, evolve, pin, rate, delete, restore,
    erase, unforget.
    Read: search, context, profile, get, get_many, get_all, history, explain, bisect, stats.
    Users: for_user, users, delete_user, view. Files: export, import_.
    Each with methods of its own: learn, lessons, skills, graph, traces, review, care.

    `help(MemoryMesh.add)` says what one of them takes, `help(MemoryMesh.review)` what a family has.
    """

    @constructor
    def __init__(
        self,
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Take the settings; nothing is opened before the first use or `init`.

        `store` is a folder, `sqlite:///FOLDER`, `postgresql://USER@HOST/DATABASE` or the
        `https://HOST` of a service; by default the data folder of the platform.
        """
        settings = {
            name: value for name, value in options.items() if name in configuration.SETTINGS
        }
        more = options.get("settings") or {}
        config = configuration.load({**more, **settings, "store": store})
        opened = Store(
            config,
            clock=options.get("clock"),
            sinks=options.get("sinks", ()),
            embedder=options.get("custom_embedder"),
            llm=options.get("custom_llm"),
            reranker=options.get("custom_reranker"),
            key=options.get("key"),
        )
        super().__init__(opened, config, options.get("channel", Channel.LIBRARY), owner=True)

    def view(
        self,
        *,
        namespace: str | None = None,
        scope: Scope | None = None,
        channel: Channel | str | None = None,
    ) -> "MemoryMesh":
        """Another view of the same open store; what is not given stays as it is here.

        A view costs microseconds and no memory to speak of, so make one per project or
        request; `for_user` makes one per user. Closing a view leaves the store open; the mesh that
        opened the store closes it.

        Options:
            namespace: the part of the store to work in.
            scope: the project, agent and session to read and write as.
            channel: where texts come from; it limits how far they are trusted.
        """
        if namespace is not None:
            check_plain_namespace(namespace)
        return self._of_same_store(namespace, scope, channel)

    def for_user(self, user_id: str) -> "MemoryMesh":
        """The memories of one user of this store: a view of a namespace of that user's own.

        Any text of 1 to 128 bytes in UTF-8 is a user id, such as a number, a name or an e-mail
        address; case matters. The namespace is made at the first write, and the id is readable in
        its file name. Project, agent, session and channel stay as they are here.
        """
        return self._of_same_store(user_namespace(user_id), None, None)

    @property
    def config(self) -> configuration.Config:
        """The effective settings."""
        return self._config

    @property
    def folder(self) -> Path:
        """Where the store lies; of a database, the folder for its files on this machine."""
        return self._opened().folder

    def __enter__(self) -> Self:
        """Open the store."""
        self.init()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()

    def init(self) -> None:
        """Open the store; calling it twice is fine, and every other method does it if needed.

        Skill files that are new or changed since the last time are taken in.
        """
        self._opened()
        if self._config.skill_directories and self._owner:
            self.skills._watch_skills()  # noqa: SLF001  # the same view

    def close(self) -> None:
        """Write what waits, feed the sinks for at most 0.2 seconds and release every file."""
        self._release()
