"""One question to several views: each answers for itself, and the answers are merged.

::

    for each view: its own redaction, lens, cache and read transactions ──▶ its hits
      ▼                                        a question is embedded once for all of them
    merge by score ──▶ each memory once ──▶ the first `limit`
      ▼
    each view notes a recall block             with those of its hits that were shown
"""

import heapq
from collections.abc import Iterator, Sequence

from memory_mesh.base.fastdataclass import dataclass, replace
from memory_mesh.model import Embedding, Explanation, Hit, Hits, Query, ViewName
from memory_mesh.model.ports import Embedder
from memory_mesh.search.recall import find, note_search
from memory_mesh.write.access import Access


@dataclass(frozen=True, slots=True)
class ViewQuestion:
    """The question as one view asks it."""

    access: Access
    query: Query
    view: ViewName


def recall_views(asked: Sequence[ViewQuestion], *, use_cache: bool = True) -> Hits:
    """Returns the best memories of all views, best first; the asking view comes first."""
    limit = asked[0].query.limit
    found = [
        find(access, one.query, use_cache=use_cache)
        for one, access in zip(asked, _embedding_once(asked), strict=True)
    ]
    answers = [
        [replace(hit, view=one.view) for hit in hits]
        for one, (_, hits) in zip(asked, found, strict=True)
    ]
    shown = list(_merged(answers))[:limit]
    for place, (one, (query, _)) in enumerate(zip(asked, found, strict=True)):
        note_search(one.access, query, [hit for of, hit in shown if of == place])
    told = [
        replace(hits.explanation, view=one.view)
        for one, (_, hits) in zip(asked, found, strict=True)
    ]
    return Hits([hit for _, hit in shown], _explained(told, limit - len(shown)))


def _merged(answers: Sequence[Sequence[Hit]]) -> Iterator[tuple[int, Hit]]:
    """Yields the hits by score, each memory once, with the place of the view it came from.

    A view's own order stays as it is. Of equal scores that of the earlier view comes first.
    """
    numbered = [[(place, hit) for hit in hits] for place, hits in enumerate(answers)]
    seen: set[tuple[str, str, str]] = set()
    for place, hit in heapq.merge(*numbered, key=lambda one: -one[1].score):
        memory = (*_namespace(hit.view), hit.id)
        if memory not in seen:
            seen.add(memory)
            yield place, hit


def _namespace(view: ViewName | None) -> tuple[str, str]:
    return ("", "") if view is None else (view.folder, view.namespace)


def _explained(told: Sequence[Explanation], room: int) -> Explanation:
    """Sums up how the views answered; `views` keeps what each said.

    What waits in a namespace counts once, however many views of it were asked.
    """
    namespaces = {_namespace(how.view): how for how in told}.values()
    scores = [how.best_below for how in told if how.best_below is not None]
    below = min(room, sum(how.below for how in told))
    read_as = {word: others for how in reversed(told) for word, others in how.read_as.items()}
    return Explanation(
        told[0].profile,
        space=", ".join(dict.fromkeys(how.space for how in told if how.space)) or None,
        note="; ".join(dict.fromkeys(how.note for how in told if how.note)) or None,
        pending=sum(how.pending for how in namespaces),
        dropped=tuple(dict.fromkeys(word for how in told for word in how.dropped)),
        found_by_keyword=sum(how.found_by_keyword for how in told),
        found_by_vector=sum(how.found_by_vector for how in told),
        from_body=sum(how.from_body for how in told),
        read_as=read_as,
        outgrown=any(how.outgrown for how in told),
        to_reindex=sum(how.to_reindex for how in namespaces),
        below=below,
        best_below=max(scores) if below else None,
        views=tuple(told),
    )


def _embedding_once(asked: Sequence[ViewQuestion]) -> Iterator[Access]:
    """Yields the access of each view; those with the same embedder share its answers."""
    shared: dict[Embedder, _OnceEmbedder] = {}
    for access in (one.access for one in asked):
        if access.embedder is None:
            yield access
            continue
        once = shared.setdefault(access.embedder, _OnceEmbedder(access.embedder))
        yield replace(access, embedder=once)


class _OnceEmbedder:
    """An embedder that remembers its vectors of questions for the length of one search."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, ...], Embedding] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The vectors of the texts; those of a question are asked for once."""
        if not query:
            return self._embedder.embed(texts)
        question = tuple(texts)
        if question not in self._known:
            self._known[question] = self._embedder.embed(texts, query=True)
        return self._known[question]

    def close(self) -> None:
        """Leave the embedder open: its store owns it."""
