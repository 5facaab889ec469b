"""Keeps a graph's memories in a storage of the caller's own: loads an agent once, saves it whole.

::

    an agent is named ── first time ──▶ storage.load ──▶ checked ──▶ put back into the mesh
    a write of it ──▶ commit in the mesh ──▶ read all the agent has ──▶ storage.save
                                                                   └──▶ storage.archive

The mesh is the truth while the process runs. If the storage fails, the write stays in the mesh,
the caller gets an error that says so, and the agent is saved with its next write, by `save` or at
the end. What was not loaded is never saved, so a damaged file is never written over.
"""

import inspect
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.compat.neolata import rows, translate
from memory_mesh.compat.neolata.model import GraphCluster
from memory_mesh.compat.neolata.rows import plain_row, read_memory
from memory_mesh.compat.neolata.storage import OPTIONAL, GraphStorage
from memory_mesh.mesh.operations.agent_store import KeepingVerbs, Whole
from memory_mesh.model import (
    BY_RULE,
    SIMILAR,
    Conflict,
    Json,
    Kind,
    Link,
    Memory,
    Resolution,
    Scope,
    Status,
)
from memory_mesh.model.errors import InvalidInput, MeshError, StorageFailed, shown
from memory_mesh.model.graph import EPISODE
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import check_text, moment
from memory_mesh.rules.trust import trust_of

PART_OF = "part_of"
SAME_SHARE = 0.5  # of the memories of two clusters that must be the same for them to be one

MAX_SIMILAR = 5  # links of type similar from one memory
_NOT_SAVED = (
    "They are stored in this process and are saved with the agent's next write, or by `save()` "
    "as soon as the storage works again"
)
_NOT_LOADED = "Nothing was changed"


class Keeper:
    """The storage of one graph, and which agents it has been asked for."""

    def __init__(self, storage: GraphStorage, mesh: KeepingVerbs, project: str | None) -> None:
        """Take the storage; nothing is loaded yet."""
        for name in ("load", "save", "archive", *OPTIONAL):
            method = getattr(storage, name, None)
            if inspect.iscoroutinefunction(method):
                raise InvalidInput(f"{name} of a storage is called in a thread: make it blocking")
            if not callable(method) and name not in OPTIONAL:
                raise InvalidInput(f"a storage has load, save and archive; this one has no {name}")
        self._storage, self._mesh, self._project = storage, mesh, project
        self._loaded: dict[str, str] = {}  # agents, each with its name in the mesh
        self._unsaved: set[str] = set()
        self._archived: set[str] = set()  # ids that the storage has moved to its archive
        self._lock = threading.RLock()

    def load(self, agent: str | None) -> None:
        """Load an agent unless it was; without a name every agent that the storage lists."""
        with self._lock:
            for name in self._listed() if agent is None else [agent]:
                if name not in self._loaded:
                    self._bring(name)
                    self._loaded[name] = self._mesh._stored_scope(Scope(agent=name)).agent or name

    def can_list(self) -> bool:
        """True if the storage can say which agents it has."""
        return self._has("agents")

    def save(self, agent: str) -> None:
        """Give the storage all that an agent has, by the agent's name here or in the mesh."""
        with self._lock:
            agent = next((name for name in self._loaded if self._loaded[name] == agent), agent)
            self._unsaved.add(agent)
            self._give(agent)
            self._unsaved.discard(agent)

    def labelled(self, clusters: Sequence[GraphCluster]) -> list[GraphCluster]:
        """The clusters with the labels that others gave them, saved with each loaded agent."""
        with self._lock:
            for agent in sorted(self._loaded) if self._has("load_clusters") else ():
                about = f"load the clusters of {agent!r}"
                found = self._asked("load_clusters", about, _NOT_LOADED, agent)
                rows_ = rows.rows_in({"clusters": found}, "clusters")
                clusters = [relabelled(each, rows_) for each in clusters]
            for agent in sorted(self._loaded) if self._has("save_clusters") else ():
                own = {memory.id for memory in self._mesh._whole_of(agent).memories}
                kept = [each for each in clusters if own & {*each.memory_ids}]
                given = cluster_rows(kept, self._mesh._now())
                about = f"save the clusters of {agent!r}"
                self._asked("save_clusters", about, "They are made anew", agent, given)
        return list(clusters)

    def save_rest(self) -> None:
        """Save every agent whose last save failed."""
        with self._lock:
            for agent in sorted(self._unsaved):
                self.save(agent)

    def close(self) -> None:
        """Save what was not saved, then close the storage if it can be closed."""
        try:
            self.save_rest()
        finally:
            if self._has("close"):
                self._asked("close", "be closed", "It was told to close")

    def _listed(self) -> list[str]:
        if not self.can_list():
            return []
        found = self._asked("agents", "list its agents", _NOT_LOADED)
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise InvalidInput("agents() of a storage returns a list of names")
        return [translate.agent_name(each) for each in found]

    def _bring(self, agent: str) -> None:
        about = f"load the memories of {agent!r}"
        data = self._asked("load", about, _NOT_LOADED, agent)
        stored = [
            rows.read_memory(row, agent, self._project) for row in rows.rows_in(data, "memories")
        ]
        links = [rows.read_link(row) for row in rows.rows_in(data, "links")]
        conflicts = {each.id: each for one in stored for each in one.conflicts}
        if self._has("load_pending_conflicts"):
            found = self._asked("load_pending_conflicts", about, _NOT_LOADED, agent)
            for row in rows.rows_in({"pending_conflicts": found}, "pending_conflicts"):
                waiting = rows.read_conflict(row)
                conflicts.setdefault(waiting.id, waiting)
        kept: list[tuple[Memory, Sequence[str]]] = [(one.memory, one.origins) for one in stored]
        for memory, parts in self._episodes(agent, about, {one.memory.id for one in stored}):
            kept.append((memory, ()))
            links += parts
        memories = [memory for memory, _ in kept]
        told = _told_by_rows(memories, list(conflicts.values()), self._mesh._now())
        self._mesh._put_back(kept, _few_similar(links), [*conflicts.values(), *told])

    def _episodes(
        self, agent: str, about: str, known: set[str]
    ) -> Iterator[tuple[Memory, list[Link]]]:
        """Episodes that only the storage knows, each with the links of its memories."""
        if self._has("load_episodes"):
            found = self._asked("load_episodes", about, _NOT_LOADED, agent)
            for row in rows.rows_in({"episodes": found}, "episodes"):
                made = read_episode(row, agent, self._project, known)
                if made is not None:
                    yield made

    def _give(self, agent: str) -> None:
        """Save, then have the storage archive what is archived since the last time."""
        about = f"save the memories of {agent!r}"
        whole = self._mesh._whole_of(agent)
        kept = [
            memory
            for memory in whole.memories
            if memory.status is not Status.ARCHIVED or memory.id not in self._archived
        ]
        ids = {memory.id for memory in kept}
        data = {
            "memories": self._rows(kept, whole),
            "links": [
                rows.link_row(link) for link in whole.links if {link.source, link.target} <= ids
            ],
        }
        self._asked("save", about, _NOT_SAVED, agent, data)
        if self._has("save_pending_conflicts"):
            claims = {memory.id: memory.claim for memory in whole.memories}
            waiting = [rows.conflict_row(each, claims) for each in whole.conflicts if each.pending]
            self._asked("save_pending_conflicts", about, _NOT_SAVED, agent, waiting)
        if self._has("save_episodes"):
            made = episode_rows(kept, whole.links, agent)
            self._asked("save_episodes", about, _NOT_SAVED, agent, made)
        gone = [memory.id for memory in kept if memory.status is Status.ARCHIVED]
        if gone:
            self._asked("archive", f"archive memories of {agent!r}", _NOT_SAVED, agent, gone)
            self._archived.update(gone)

    def _rows(self, memories: Sequence[Memory], whole: Whole) -> list[dict[str, Json]]:
        now = self._mesh._now()
        came_with: dict[str, list[Conflict]] = {}
        for each in whole.conflicts:
            came_with.setdefault(each.new, []).append(each)
        return [
            rows.memory_row(
                memory,
                translate.shown(memory, came_with.get(memory.id, []), now),
                whole.origins.get(memory.id, ()),
                came_with.get(memory.id, []),
            )
            for memory in memories
        ]

    def _has(self, name: str) -> bool:
        return callable(getattr(self._storage, name, None))

    def _asked(self, name: str, what: str, then: str, *arguments: object) -> object:
        """What the storage answers; its errors become ours, without what looks like a secret."""
        try:
            found: object = getattr(self._storage, name)(*arguments)
        except MeshError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a storage of others does
            said = masked(f"{type(error).__name__}: {error}")
            raise StorageFailed(f"the storage could not {what}: {said}. {then}") from None
        return found


def _few_similar(links: Sequence[Link]) -> list[Link]:
    """Each link once, none from a memory to itself, and the most similar five of each memory."""
    each_once = [link for link in dict.fromkeys(links) if link.source != link.target]
    best_first = sorted(each_once, key=lambda link: -(link.similarity or 0.0))
    counts: dict[str, int] = {}
    kept = []
    for link in best_first:
        if link.type == SIMILAR:
            counts[link.source] = counts.get(link.source, 0) + 1
        if link.type != SIMILAR or counts[link.source] <= MAX_SIMILAR:
            kept.append(link)
    return kept


def _told_by_rows(
    memories: Sequence[Memory], conflicts: Sequence[Conflict], now: datetime
) -> list[Conflict]:
    """The conflicts that `superseded_by` tells of and no record does; they get an id later."""
    by_id = {memory.id: memory for memory in memories}
    known = {(each.new, each.existing) for each in conflicts}
    return [
        Conflict(
            id="",
            new=newer.id,
            existing=memory.id,
            new_trust=trust_of(newer, now),
            existing_trust=trust_of(memory, now),
            reason="the storage says that it was superseded",
            created=memory.recorded_from,
            resolved_at=memory.recorded_from,
            resolution=Resolution.SUPERSEDE,
            why=BY_RULE,
        )
        for memory in memories
        if memory.successor is not None
        and (newer := by_id.get(memory.successor)) is not None
        and (newer.id, memory.id) not in known
    ]


# Episodes and clusters as rows of a storage: views of what memories and links tell already.
#
# A storage that keeps neither loses nothing. One that keeps them may be written to by others too:
# an episode that only it knows becomes one of ours, and a cluster keeps the label that somebody
# gave it.


def episode_rows(
    memories: Sequence[Memory], links: Iterable[Link], agent: str
) -> list[dict[str, Json]]:
    """The episodes among an agent's memories."""
    by_id = {memory.id: memory for memory in memories}
    members: dict[str, list[Memory]] = {}
    for link in links:
        if link.type == PART_OF and link.source in by_id:
            members.setdefault(link.target, []).append(by_id[link.source])
    return [
        _episode_row(memory, members.get(memory.id, []), agent)
        for memory in memories
        if memory.label == EPISODE
    ]


def read_episode(
    row: object, agent: str, project: str | None, known: Collection[str]
) -> tuple[Memory, list[Link]] | None:
    """An episode that only the storage knows, as a memory and links; None for one that is here."""
    said = plain_row(row, "an episode")
    id_ = check_text(said.get("id"), "the id of an episode")
    if id_ in known:
        return None
    title = said.get("title", said.get("name"))
    made = said.get("created_at") or said.get("started")
    stored = read_memory(
        {"id": id_, "content": title, "created_at": made, "event_time": said.get("started")},
        agent,
        project,
    )
    ids = said.get("memory_ids", said.get("memories", ()))
    if isinstance(ids, str) or not isinstance(ids, Sequence):
        raise InvalidInput(f"memory_ids of the episode {shown(id_, 100)} must be a list of ids")
    memory = replace(stored.memory, kind=Kind.EVENT, label=EPISODE)
    names = [check_text(each, "a memory id of an episode") for each in ids]
    at = moment("created_at", made)
    return memory, [Link(name, id_, PART_OF, None, at) for name in names if name in known]


def cluster_rows(clusters: Iterable[GraphCluster], at: datetime) -> list[dict[str, Json]]:
    """Clusters as rows."""
    return [
        {
            "id": f"cluster_{min(each.memory_ids)}",
            "label": each.label,
            "terms": list(each.terms),
            "memory_ids": list(each.memory_ids),
            "size": each.size,
            "updated_at": at.isoformat(),
        }
        for each in clusters
    ]


def relabelled(cluster: GraphCluster, rows: Iterable[object]) -> GraphCluster:
    """The cluster with the label that the storage has for most of the same memories.

    A label that we gave is made anew: only one that differs from the words beside it was given by
    somebody else.
    """
    own = frozenset(cluster.memory_ids)
    for row in rows:
        said = plain_row(row, "a cluster")
        label, ids = said.get("label"), said.get("memory_ids") or ()
        if not isinstance(label, str) or not label or not isinstance(ids, Sequence):
            continue
        given = frozenset(str(each) for each in ids)
        if _is_ours(label, said) or not given:
            continue
        if len(own & given) >= SAME_SHARE * len(own | given):
            return replace(cluster, label=label)
    return cluster


def _is_ours(label: str, said: Mapping[str, Json]) -> bool:
    terms = said.get("terms")
    return isinstance(terms, Sequence) and label == ", ".join(str(term) for term in terms)


def _episode_row(memory: Memory, members: Sequence[Memory], agent: str) -> dict[str, Json]:
    members = sorted(members, key=lambda member: (member.occurred_at or member.created, member.id))
    times = [member.occurred_at or member.created for member in members]
    return {
        "id": memory.id,
        "agent_id": agent,
        "title": memory.text,
        "started": min(times).isoformat() if times else None,
        "ended": max(times).isoformat() if times else None,
        "memory_ids": [member.id for member in members],
        "created_at": memory.created.isoformat(),
    }
