"""Group memories into episodes: a conversation, a trip, an incident."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Kind, Scope
from memory_mesh.policy.arguments import check_limit, check_text, moment
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.model.graph import Episode

_MOST_SENTENCES = 50


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
        scope: Scope | None = None,
    ) -> "Episode":
        """Stores an episode: a memory with this title that others are a part of.

        Its memories are those named, and those of the stretch of time or of the session; at most
        1,000 at once.

        Options:
            ids: the memories that belong to it.
            since: memories of this time or later, by when they happened or were stored.
            until: memories from before this time.
            session: memories of this session.
            scope: who reads; by default the project, agent and session of this mesh.
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
        self, episode_id: str, ids: Iterable[str], *, scope: Scope | None = None
    ) -> "Episode":
        """Adds memories to an episode; those that are in it already stay.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return self._change_episode(episode_id, ids, scope, add=True)

    def remove_from_episode(
        self, episode_id: str, ids: Iterable[str], *, scope: Scope | None = None
    ) -> "Episode":
        """Takes memories out of an episode; the memories themselves stay.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return self._change_episode(episode_id, ids, scope, add=False)

    def episode(self, episode_id: str, *, scope: Scope | None = None) -> "Episode":
        """Returns an episode with the memories in it that are visible, oldest first.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        checked = check_text(episode_id, "episode_id")
        return flows.episodes.episode(self._access(), checked, self._lens(scope))

    def episodes(
        self, *, query: str | None = None, limit: int = 20, scope: Scope | None = None
    ) -> "list[Episode]":
        """Lists episodes, newest first; with a query those whose titles fit it best.

        Options:
            query: words of the title, or a question about it.
            limit: the largest number of results, 1 to 1,000.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        asked = None if query is None else check_text(query, "query")
        return flows.episodes.episodes(self._access(), self._lens(scope), check_limit(limit), asked)

    def summarise_episode(
        self, episode_id: str, *, sentences: int = 5, scope: Scope | None = None
    ) -> "Episode":
        """Returns an episode with a summary: the sentences that say most of what it is about.

        They are chosen from the visible memories without a language model, and nothing is stored.

        Options:
            sentences: the most sentences, 1 to 50.
            scope: who reads; by default the project, agent and session of this mesh.
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


def _ids(ids: Iterable[str]) -> list[str]:
    given = [ids] if isinstance(ids, str) else list(ids)
    return [check_text(id_, "ids") for id_ in given]
