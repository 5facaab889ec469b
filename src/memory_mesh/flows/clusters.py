"""Groups of memories that links hold together, under one reader's lens."""

from collections.abc import Sequence

from memory_mesh.flows.access import Access
from memory_mesh.model import Lens, Link
from memory_mesh.model.graph import Cluster, Clusters
from memory_mesh.policy.clusters import components, members, telling_terms

MOST_LINKS = 50_000  # that are read, those of the newest memories
MOST_READ = 30  # memories of a cluster whose texts name it, the newest


def clusters(
    access: Access,
    lens: Lens,
    *,
    min_size: int,
    min_similarity: float,
    limit: int,
    types: Sequence[str] = (),
) -> Clusters:
    """The largest groups first, each named by words that set it apart from the others."""
    with access.ledger.read(access.namespace) as snapshot:
        links = snapshot.edges(lens, types=types, least=min_similarity, limit=MOST_LINKS + 1)
        groups = [(members(group), group) for group in components(links[:MOST_LINKS])]
        large = [each for each in groups if len(each[0]) >= min_size]
        large.sort(key=lambda each: -len(each[0]))
        shown = large[:limit]
        read = [[memory.text for memory in snapshot.get(ids[:MOST_READ], lens)] for ids, _ in shown]
    named = zip(shown, telling_terms(read), strict=True)
    found = (_cluster(ids, group, terms) for (ids, group), terms in named)
    return Clusters(found, cut=len(links) > MOST_LINKS or len(large) > limit)


def _cluster(ids: tuple[str, ...], links: Sequence[Link], terms: tuple[str, ...]) -> Cluster:
    return Cluster(", ".join(terms), terms, ids, len(links))
