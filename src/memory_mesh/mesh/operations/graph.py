"""Follow the links between memories: walks, paths, clusters, what stands around a memory."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.options import Limit, LinkTypes, Reader, Reason, Statuses
from memory_mesh.mesh.view import View
from memory_mesh.model import SIMILAR, InvalidInput, Kind, Link, Scope
from memory_mesh.rules.arguments import check_limit, check_share, check_text, moment

if TYPE_CHECKING:
    from memory_mesh.model.graph import Clusters, Episode, KnownEntity, Neighbourhood, Walk

_MOST_SENTENCES = 50

LINK_TYPES = ("related", "follows", "part_of", "depends_on")  # those that a caller may set
_OWN_TYPES = (SIMILAR, "derived_from")  # those that are made by themselves

MOST_HOPS = 10


class WalkVerbs(View):
    """Methods that follow links; each sees what the reader sees, and nothing through it."""

    @reads
    def traverse(
        self,
        memory_id: str,
        *,
        max_hops: int = 2,
        types: LinkTypes = (),
        limit: Limit = 100,
        include: Statuses = (),
        scope: Reader = None,
    ) -> "Walk":
        """Walks from a memory along links and returns what it reaches, nearest first.

        Links are followed in both directions. Each memory comes once, with the number of steps and
        the link that led to it. `cut` is True if there are more than `limit`.

        Options:
            max_hops: the most steps, 1 to 10.
        """
        checked, hops = check_text(memory_id, "memory_id"), _check_hops(max_hops, "max_hops")
        return flows.graph.traverse(
            flows.similar_links.caught_up(self._access()),
            checked,
            self._lens(scope, include=include),
            max_hops=hops,
            limit=check_limit(limit),
            types=check_link_types(types),
        )

    @reads
    def path(
        self,
        source_id: str,
        target_id: str,
        *,
        max_hops: int = 6,
        types: LinkTypes = (),
        include: Statuses = (),
        scope: Reader = None,
    ) -> tuple[Link, ...] | None:
        """Returns the links of a shortest way between two memories, or None if there is none.

        It looks at 5,000 memories at most, and follows the best 100 links of each.

        Options:
            max_hops: the most steps, 1 to 10.
        """
        return flows.graph.path(
            flows.similar_links.caught_up(self._access()),
            check_text(source_id, "source_id"),
            check_text(target_id, "target_id"),
            self._lens(scope, include=include),
            max_hops=_check_hops(max_hops, "max_hops"),
            types=check_link_types(types),
        )

    @reads
    def neighbourhood(
        self,
        memory_id: str,
        *,
        hops: int = 2,
        limit: Limit = 60,
        include: Statuses = (),
        scope: Reader = None,
    ) -> "Neighbourhood":
        """Returns a memory, those that links lead to, and the links between all of them.

        `more` counts further memories that are as near, up to 200.

        Options:
            hops: the most steps, 1 to 10.
        """
        return flows.graph.neighbourhood(
            flows.similar_links.caught_up(self._access()),
            check_text(memory_id, "memory_id"),
            self._lens(scope, include=include),
            hops=_check_hops(hops, "hops"),
            limit=check_limit(limit),
        )

    @reads
    def supersessions(self, memory_id: str, *, scope: Reader = None) -> "Neighbourhood":
        """Returns the memories of `chain`, those that only seem to update one, and their links.

        The links are of type supersedes or newer_than, from the newer memory to the older one.
        """
        checked = check_text(memory_id, "memory_id")
        return flows.graph.supersessions(self._access(), checked, self._lens(scope))

    @reads
    def clusters(
        self,
        min_size: int = 2,
        *,
        min_similarity: float = 0.7,
        types: LinkTypes = (),
        limit: Limit = 100,
        include: Statuses = (),
        scope: Reader = None,
    ) -> "Clusters":
        """Returns groups of memories that links hold together, largest first.

        Each is named by the words that set it apart from the others. The links of the newest
        memories are read, 50,000 at most; `cut` is True if there are more links or clusters.

        Options:
            min_similarity: links of type similar need at least this much, 0 to 1.
        """
        if type(min_size) is not int or min_size < 1:
            raise InvalidInput("min_size is a whole number, 1 or more")
        return flows.clusters.clusters(
            flows.similar_links.caught_up(self._access()),
            self._lens(scope, include=include),
            min_size=min_size,
            min_similarity=check_share(min_similarity, "min_similarity"),
            limit=check_limit(limit),
            types=check_link_types(types),
        )

    @reads
    def entity(self, name: str, *, limit: Limit = 50, scope: Reader = None) -> "KnownEntity":
        """Returns what is known of somebody or something, oldest first, over time.

        A line is a memory whose claim is about the name or whose text says it; one that was updated
        or superseded since, in the text or by a newer statement, has an end. Other names are those
        that a claim states (predicate `name` or `alias`), and the only longer or shorter one: with
        "Alice Smith" alone, "Alice" is her; with an "Alice Jones" whom no claim joins to her it is
        `ambiguous`, and nothing of either is listed. `more` is True if there are more than
        `limit`, the newest.
        """
        said = self._redacted(check_text(name, "name"))
        if not said.strip():
            raise InvalidInput("an entity needs a name")
        lens, most = self._lens(scope), check_limit(limit)
        return flows.graph.entity(self._access(), said, lens, most)


def _check_hops(hops: int, name: str) -> int:
    if type(hops) is not int or not 1 <= hops <= MOST_HOPS:
        raise InvalidInput(f"{name} is a whole number from 1 to {MOST_HOPS}")
    return hops


# Link memories to each other.


class LinkVerbs(View):
    """Methods that link memories."""

    def link(
        self,
        source_id: str,
        target_id: str,
        *,
        type: str = "related",
        reason: Reason = "linked by the caller",
        scope: Reader = None,
    ) -> Link:
        """Links one memory to another.

        Options:
            type: related, follows, part_of or depends_on.
        """
        said = check_text(reason, "reason")
        wanted = _link(source_id, target_id, type)
        return flows.links.link(self._access(), wanted, self._reader(scope), said)

    def unlink(
        self,
        source_id: str,
        target_id: str,
        *,
        type: str = "related",
        reason: Reason = "unlinked by the caller",
        scope: Reader = None,
    ) -> bool:
        """Removes a link; returns False if there was none.

        Options:
            type: related, follows, part_of or depends_on.
        """
        said = check_text(reason, "reason")
        wanted = _link(source_id, target_id, type)
        return flows.links.unlink(self._access(), wanted, self._reader(scope), said)

    @reads
    def links(self, memory_id: str, *, types: LinkTypes = (), scope: Reader = None) -> list[Link]:
        """Lists the links from and to a memory, oldest first, similar ones last, at most 1,000.

        A link is listed if both of its memories are visible. Those of type similar are made by
        themselves after a write and have a similarity; `stats().to_link` counts what waits.
        """
        checked = check_text(memory_id, "memory_id")
        wanted = check_link_types(types)
        access = flows.similar_links.caught_up(self._access())
        return flows.links.links(access, checked, self._lens(scope), wanted)


def check_link_types(types: Iterable[str]) -> tuple[str, ...]:
    """The types as a tuple; InvalidInput if one of them is none."""
    wanted = (types,) if isinstance(types, str) else tuple(types)
    for each in wanted:
        if each not in (*LINK_TYPES, *_OWN_TYPES):
            known = ", ".join((*LINK_TYPES, *_OWN_TYPES))
            raise InvalidInput(f"there is no type {each!r} of links; the types are: {known}")
    return wanted


def _link(source_id: str, target_id: str, type_: str) -> Link:
    if type_ not in LINK_TYPES:
        raise InvalidInput(f"the type of a link is one of: {', '.join(LINK_TYPES)}")
    return Link(check_text(source_id, "source_id"), check_text(target_id, "target_id"), type_)


# Group memories into episodes: a conversation, a trip, an incident.


class EpisodeVerbs(View):
    """Methods that group memories into episodes; each shows what the reader sees of one."""

    def create_episode(
        self,
        title: str,
        *,
        ids: Iterable[str] = (),
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session: str | None = None,
        scope: Reader = None,
    ) -> "Episode":
        """Stores an episode: a memory with this title that others are a part of.

        Its memories are those named, and those of the stretch of time or of the session; at most
        1,000 at once.

        Options:
            ids: the memories that belong to it.
            since: memories of this time or later, by when they happened or were stored.
            until: memories from before this time.
            session: memories of this session.
        """
        from memory_mesh.model.graph import EPISODE

        said = check_text(title, "title").strip()
        if not said:
            raise InvalidInput("an episode needs a title")
        details = {} if scope is None else {"scope": scope}
        draft = replace(
            self._draft(said, None, details),
            kind=Kind.EVENT,
            label=EPISODE,
            allow_duplicate=True,
        )
        asked = scope or Scope()
        if session is not None:
            asked = replace(asked, session=check_text(session, "session"))
        lens = self._lens(asked)
        found = flows.episodes.during(
            self._access(),
            lens,
            since=moment("since", since),
            until=moment("until", until),
            session=None if session is None else lens.scope.session,
        )
        return flows.episodes.create(self._access(), draft, [*_ids(ids), *found], lens)

    def add_to_episode(
        self, episode_id: str, ids: Iterable[str], *, scope: Reader = None
    ) -> "Episode":
        """Adds memories to an episode; those that are in it already stay."""
        return self._change_episode(episode_id, ids, scope, add=True)

    def remove_from_episode(
        self, episode_id: str, ids: Iterable[str], *, scope: Reader = None
    ) -> "Episode":
        """Takes memories out of an episode; the memories themselves stay."""
        return self._change_episode(episode_id, ids, scope, add=False)

    @reads
    def episode(self, episode_id: str, *, scope: Reader = None) -> "Episode":
        """Returns an episode with the memories in it that are visible, oldest first."""
        checked = check_text(episode_id, "episode_id")
        return flows.episodes.episode(self._access(), checked, self._lens(scope))

    @reads
    def episodes(
        self, *, query: str | None = None, limit: Limit = 20, scope: Reader = None
    ) -> "list[Episode]":
        """Lists episodes, newest first; with a query those whose titles fit it best.

        Options:
            query: words of the title, or a question about it.
        """
        asked = None if query is None else check_text(query, "query")
        return flows.episodes.episodes(self._access(), self._lens(scope), check_limit(limit), asked)

    def summarise_episode(
        self, episode_id: str, *, sentences: int = 5, scope: Reader = None
    ) -> "Episode":
        """Returns an episode with a summary: the sentences that say most of what it is about.

        They are chosen from the visible memories without a language model, and nothing is stored.

        Options:
            sentences: the most sentences, 1 to 50.
        """
        if type(sentences) is not int or not 1 <= sentences <= _MOST_SENTENCES:
            raise InvalidInput(f"sentences is a whole number from 1 to {_MOST_SENTENCES}")
        checked = check_text(episode_id, "episode_id")
        lens = self._lens(scope)
        return flows.episodes.episode(self._access(), checked, lens, sentences=sentences)

    def _change_episode(
        self, episode_id: str, ids: Iterable[str], scope: Scope | None, *, add: bool
    ) -> "Episode":
        checked, members = check_text(episode_id, "episode_id"), _ids(ids)
        if not members:
            raise InvalidInput("name at least one memory")
        return flows.episodes.change(self._access(), checked, members, self._lens(scope), add=add)


class GraphVerbs(LinkVerbs, WalkVerbs, EpisodeVerbs):
    """Links between memories, walks along them, and episodes: `mesh.graph`."""


def _ids(ids: Iterable[str]) -> list[str]:
    given = [ids] if isinstance(ids, str) else list(ids)
    return [check_text(id_, "ids") for id_ in given]
