"""Follow the links between memories: walks, paths, clusters, what stands around a memory."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Claim, Kind, Link, Receipt, Scope, SourceKind, Status, Tier
from memory_mesh.policy.arguments import check_limit, check_share, check_text, options_given
from memory_mesh.policy.writing.drafts import DETAILS
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.verbs.links import check_link_types
from memory_mesh.verbs.users import known_options
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.model.graph import Clusters, Neighbourhood, Walk

MOST_HOPS = 10


class GraphVerbs(View):
    """Methods that follow links; each sees what the reader sees, and nothing through it."""

    @known_options
    def evolve(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        *,
        # begin generated options (details)
        scope: Scope | None = None,
        kind: Kind | str | None = None,
        speaker: str | None = None,
        role: str | None = None,
        order: int | None = None,
        occurred_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
        importance: float | str | None = None,
        confidence: float | None = None,
        tags: Iterable[str] | None = None,
        tier: Tier | str | None = None,
        pinned: bool | None = None,
        source_kind: SourceKind | str | None = None,
        source_agent: str | None = None,
        source_ref: str | None = None,
        source_skill: str | None = None,
        claim: Claim | Mapping[str, object] | None = None,
        triggers: str | Iterable[str] | None = None,
        quarantine: str | None = None,
        keep_active: bool | None = None,
        derived_from: Iterable[str] | None = None,
        key: str | None = None,
        allow_duplicate: bool | None = None,
        # end generated options
    ) -> Receipt:
        """Stores a memory as the newer statement of what is known, and supersedes the older one.

        The older one is of the same audience and claims, stated or in its text, what cannot be true
        beside the new one. What is only similar, or trusted more, stays and is linked as related.
        The receipt says which; `undo_review` brings the older one back.

        Options:
            scope: the project, agent and session that may see it.
            kind: the sort of knowledge, such as decision; any other word becomes a label.
            speaker: who said it.
            role: the role of the speaker: user, assistant, tool or system.
            order: its position in the session.
            occurred_at: when it happened.
            valid_from: start of the time in which it is true.
            valid_until: end of the time in which it is true.
            importance: 0 to 1, or low, medium, high or critical.
            confidence: how certain it is, 0 to 1.
            tags: words to group it by.
            tier: how long it is meant to live: short_term, long_term or system.
            pinned: mark it as always wanted.
            source_kind: where it comes from, such as document; else read from role, source.
            source_agent: the agent or system that it comes from.
            source_ref: the file, page or message that it comes from.
            source_skill: the id of the skill that it comes from.
            claim: what it states: a mapping with subject, predicate and value.
            triggers: patterns that call it up: a regular expression, alternatives, or plain words.
            quarantine: keep it for review, for the reason given here.
            keep_active: keep it active beside a more trusted memory that contradicts it.
            derived_from: the ids of the memories that it was made from.
            key: an idempotency key: what is added again with the same key is stored once.
            allow_duplicate: store it although the same text is stored already.
        """
        details = options_given(locals(), DETAILS)
        return flows.evolve.evolve(
            self._access(), self._fit(self._draft(content, metadata, details))
        )

    def traverse(
        self,
        memory_id: str,
        *,
        max_hops: int = 2,
        types: Iterable[str] = (),
        limit: int = 100,
        include: Iterable[Status | str] = (),
        scope: Scope | None = None,
    ) -> "Walk":
        """Walks from a memory along links and returns what it reaches, nearest first.

        Links are followed in both directions. Each memory comes once, with the number of steps and
        the link that led to it. `cut` is True if there are more than `limit`.

        Options:
            max_hops: the most steps, 1 to 10.
            types: only links of these types.
            limit: the largest number of results, 1 to 1,000.
            include: further statuses to show beside active, such as quarantined.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        checked, hops = check_text(memory_id, "memory_id"), _check_hops(max_hops, "max_hops")
        return flows.graph.traverse(
            flows.linking.caught_up(self._access()),
            checked,
            self._lens(scope, include=include),
            max_hops=hops,
            limit=check_limit(limit),
            types=check_link_types(types),
        )

    def path(
        self,
        source_id: str,
        target_id: str,
        *,
        max_hops: int = 6,
        types: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        scope: Scope | None = None,
    ) -> tuple[Link, ...] | None:
        """Returns the links of a shortest way between two memories, or None if there is none.

        It looks at 5,000 memories at most, and follows the best 100 links of each.

        Options:
            max_hops: the most steps, 1 to 10.
            types: only links of these types.
            include: further statuses to show beside active, such as quarantined.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.graph.path(
            flows.linking.caught_up(self._access()),
            check_text(source_id, "source_id"),
            check_text(target_id, "target_id"),
            self._lens(scope, include=include),
            max_hops=_check_hops(max_hops, "max_hops"),
            types=check_link_types(types),
        )

    def neighbourhood(
        self,
        memory_id: str,
        *,
        hops: int = 2,
        limit: int = 60,
        include: Iterable[Status | str] = (),
        scope: Scope | None = None,
    ) -> "Neighbourhood":
        """Returns a memory, those that links lead to, and the links between all of them.

        `more` counts further memories that are as near, up to 200.

        Options:
            hops: the most steps, 1 to 10.
            limit: the largest number of results, 1 to 1,000.
            include: further statuses to show beside active, such as quarantined.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.graph.neighbourhood(
            flows.linking.caught_up(self._access()),
            check_text(memory_id, "memory_id"),
            self._lens(scope, include=include),
            hops=_check_hops(hops, "hops"),
            limit=check_limit(limit),
        )

    def supersessions(self, memory_id: str, *, scope: Scope | None = None) -> "Neighbourhood":
        """Returns the memories of `chain`, those that only seem to update one, and their links.

        The links are of type supersedes or newer_than, from the newer memory to the older one.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        checked = check_text(memory_id, "memory_id")
        return flows.graph.supersessions(self._access(), checked, self._lens(scope))

    def clusters(
        self,
        min_size: int = 2,
        *,
        min_similarity: float = 0.7,
        types: Iterable[str] = (),
        limit: int = 100,
        include: Iterable[Status | str] = (),
        scope: Scope | None = None,
    ) -> "Clusters":
        """Returns groups of memories that links hold together, largest first.

        Each is named by the words that set it apart from the others. The links of the newest
        memories are read, 50,000 at most; `cut` is True if there are more links or clusters.

        Options:
            min_similarity: links of type similar need at least this much, 0 to 1.
            types: only links of these types.
            limit: the largest number of results, 1 to 1,000.
            include: further statuses to show beside active, such as quarantined.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        if type(min_size) is not int or min_size < 1:
            raise InvalidInput("min_size is a whole number, 1 or more")
        return flows.clusters.clusters(
            flows.linking.caught_up(self._access()),
            self._lens(scope, include=include),
            min_size=min_size,
            min_similarity=check_share(min_similarity, "min_similarity"),
            limit=check_limit(limit),
            types=check_link_types(types),
        )


def _check_hops(hops: int, name: str) -> int:
    if type(hops) is not int or not 1 <= hops <= MOST_HOPS:
        raise InvalidInput(f"{name} is a whole number from 1 to {MOST_HOPS}")
    return hops
