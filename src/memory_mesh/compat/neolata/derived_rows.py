"""Episodes and clusters as rows of a storage: views of what memories and links tell already.

A storage that keeps neither loses nothing. One that keeps them may be written to by others too: an
episode that only it knows becomes one of ours, and a cluster keeps the label that somebody gave it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.compat.neolata.model import GraphCluster
from memory_mesh.compat.neolata.stored_rows import plain_row, read_memory
from memory_mesh.errors import InvalidInput, shown
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Json, Kind, Link, Memory
from memory_mesh.model.graph import EPISODE
from memory_mesh.policy.arguments import check_text, moment

PART_OF = "part_of"
SAME_SHARE = 0.5  # of the memories of two clusters that must be the same for them to be one


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
