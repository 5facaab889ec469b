"""`MemoryMesh`, blocking and thread-safe: composes the verbs, nothing else.

The async twin `memory_mesh.MemoryMesh` is generated from this file and verbs/; see
`tools/generate_async.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from memory_mesh import config as configuration
from memory_mesh.model import (
    Channel,
    Scope,
)
from memory_mesh.ports import LLM, Clock, Embedder, Sink
from memory_mesh.store import Store
from memory_mesh.verbs.audit import AuditVerbs
from memory_mesh.verbs.learn import LearnVerbs
from memory_mesh.verbs.lessons import LessonVerbs
from memory_mesh.verbs.memories import MemoryVerbs
from memory_mesh.verbs.review import ReviewVerbs
from memory_mesh.verbs.search import SearchVerbs
from memory_mesh.verbs.skills import SkillVerbs
from memory_mesh.verbs.upkeep import UpkeepVerbs


class MemoryMesh(
    MemoryVerbs,
    SearchVerbs,
    UpkeepVerbs,
    LessonVerbs,
    SkillVerbs,
    ReviewVerbs,
    LearnVerbs,
    AuditVerbs,
):
    """Long-term memory in one namespace of one store, shared by any number of processes."""

    def __init__(
        self,
        *,
        channel: Channel = Channel.LIBRARY,
        clock: Clock | None = None,
        sinks: Sequence[Sink] = (),
        custom_embedder: Embedder | None = None,
        custom_llm: LLM | None = None,
        **settings: Unpack[configuration.Settings],
    ) -> None:
        """Take the settings; nothing is opened before the first use or `init`."""
        config = configuration.load(settings)
        store = Store(config, clock=clock, sinks=sinks, embedder=custom_embedder, llm=custom_llm)
        super().__init__(store, config, channel, owner=True)

    def view(
        self,
        *,
        namespace: str | None = None,
        scope: Scope | None = None,
        channel: Channel | None = None,
    ) -> "MemoryMesh":
        """Another view of the same open store; what is not given stays as it is here.

        A view costs microseconds and no memory to speak of, so make one per user, project or
        request. Closing a view leaves the store open; the mesh that opened the store closes it.
        """
        return self._of_same_store(namespace, scope, channel)

    @property
    def config(self) -> configuration.Config:
        """The effective settings."""
        return self._config

    @property
    def folder(self) -> Path:
        """Where the store lies."""
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
        if self._config.skill_directories:
            self._watch_skills()

    def close(self) -> None:
        """Write what waits, feed the sinks for at most 0.2 seconds and release every file."""
        self._release()
