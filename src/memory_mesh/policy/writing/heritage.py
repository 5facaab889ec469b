"""Builds the heritage chain of a memory from those of its sources."""

from collections.abc import Iterable, Mapping

from memory_mesh.model import Heritage, Json
from memory_mesh.model.record import _HERITAGE_KEYS


def cut_to(heritage: Heritage, depth: int) -> Heritage:
    """Keeps the newest `depth` links of each list and counts the links removed."""
    lists = {name: getattr(heritage, name) for name in _HERITAGE_KEYS}
    gone = max(0, *(len(links) - depth for links in lists.values()))
    kept = {name: links[max(0, len(links) - depth) :] for name, links in lists.items()}
    return Heritage(**kept, cut=heritage.cut + gone)


_OWN = {"intents": "intent", "hypotheses": "hypothesis", "rationales": "rationale"}


def grown(
    parents: Iterable[Heritage | None], own: Mapping[str, Json], depth: int
) -> Heritage | None:
    """Returns the parents' links followed by the memory's own, cut to the newest."""
    chains = [parent for parent in parents if parent is not None]
    links = {
        name: tuple(dict.fromkeys(link for chain in chains for link in getattr(chain, name)))
        + _stated(own, key)
        for name, key in _OWN.items()
    }
    if not any(links.values()):
        return None
    return cut_to(Heritage(**links, cut=max((chain.cut for chain in chains), default=0)), depth)


def _stated(own: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = own.get(key)
    return (value,) if isinstance(value, str) and value else ()
