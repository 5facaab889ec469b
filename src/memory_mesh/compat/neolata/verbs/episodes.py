"""Group memories into episodes: a conversation, a trip, an incident."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView, Happened
from memory_mesh.compat.neolata.model import GraphEpisode
from memory_mesh.model import Scope
from memory_mesh.model.graph import Episode


class GraphEpisodes(GraphView):
    """Methods that group memories into episodes."""

    def create_episode(
        self,
        agent: str,
        title: str,
        *,
        ids: Iterable[str] = (),
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        session_id: str | None = None,
    ) -> GraphEpisode:
        """Make an episode of an agent's memories: those named, of a time, or of a session.

        Options:
            ids: the memories that belong to it.
            since: memories of this time or later.
            until: memories from before this time.
            session_id: memories of this session.
        """
        name = translate.agent_name(agent)
        self._load(name)
        made = self._mesh.create_episode(
            title,
            ids=ids,
            since=since,
            until=until,
            session=session_id,
            scope=Scope(self._mesh.config.project, name, self._mesh.config.session),
        )
        self._settle(name, [Happened("store", made.id, "an episode was made")])
        return self._episode(made)

    def add_to_episode(self, episode_id: str, ids: Iterable[str]) -> GraphEpisode:
        """Add memories to an episode."""
        reader = self._reader(episode_id)
        made = self._mesh.add_to_episode(episode_id, ids, scope=reader)
        self._settle(reader.agent, [])
        return self._episode(made)

    def remove_from_episode(self, episode_id: str, ids: Iterable[str]) -> GraphEpisode:
        """Take memories out of an episode; the memories themselves stay."""
        reader = self._reader(episode_id)
        made = self._mesh.remove_from_episode(episode_id, ids, scope=reader)
        self._settle(reader.agent, [])
        return self._episode(made)

    def episode(self, episode_id: str, *, as_owner: bool = False) -> GraphEpisode:
        """An episode with its memories, oldest first.

        Options:
            as_owner: show what is for others, too: every project, agent and session.
        """
        reader = self._reader(episode_id, as_owner=as_owner)
        return self._episode(self._mesh.episode(episode_id, scope=reader))

    def episodes(
        self, agent: str, *, query: str | None = None, limit: int = 20
    ) -> list[GraphEpisode]:
        """The episodes of an agent, newest first; with a query those whose titles fit best.

        Options:
            query: words of the title, or a question about it.
            limit: the largest number of results, 1 to 1,000.
        """
        name = translate.agent_name(agent)
        self._load(name)
        found = self._mesh.episodes(query=query, limit=limit, scope=Scope(agent=name))
        return [self._episode(each) for each in found]

    def summarize_episode(self, episode_id: str, *, as_owner: bool = False) -> GraphEpisode:
        """An episode with a summary: the sentences of its memories that say most.

        Options:
            as_owner: show what is for others, too: every project, agent and session.
        """
        reader = self._reader(episode_id, as_owner=as_owner)
        return self._episode(self._mesh.summarise_episode(episode_id, scope=reader))

    def _episode(self, made: Episode) -> GraphEpisode:
        return GraphEpisode(
            made.id,
            self._reader(made.id, as_owner=True).agent,
            made.title,
            made.started,
            made.ended,
            tuple(self._shown(made.memories)),
            made.summary,
        )
