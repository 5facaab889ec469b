"""Asks one question of several views: the option `also` of `search`."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Hits, Query, ViewName
from memory_mesh.policy.ranking import profiles
from memory_mesh.policy.users import user_of
from memory_mesh.typed import TypeVar
from memory_mesh.view import View

Kind = TypeVar("Kind")


def search_views(
    asking: View,
    also: Sequence[View],
    query: Query,
    *,
    filter: str | Mapping[str, object] | None,
    use_cache: bool,
    rerank: object,
) -> Hits:
    """Returns the best hits of the asking view and of others, each under its own lens.

    Filter and times hold for all of them. Who reads, what is ignored of the scope and which
    statuses are shown is said by the query for the asking view only.

    Options:
        filter: a condition, such as "team = 'core' AND priority >= 3", or a mapping.
        use_cache: allow an answer from the cache of recent searches.
        rerank: None or False: hits are merged by score, and no reranker is asked.
    """
    others = checked_views(also, View)
    if rerank is not None and rerank is not False:
        raise InvalidInput(
            "rerank and also cannot be combined: hits of several views are merged by score, and a "
            "reranker's order would be lost; leave out one of the two, or search each view"
        )
    if not profiles.named(query.profile).weighs:
        raise InvalidInput(
            f"also merges hits by score, and a score of the profile {query.profile!r} cannot be "
            "compared with that of another view; use the profile 'mesh', or search each view"
        )
    queries = {asking: query}
    for view in others:
        lens = view._lens(  # noqa: SLF001  # what a view may see is no public method
            None, filter=filter, as_of=query.lens.as_of, valid_at=query.lens.valid_at
        )
        queries.setdefault(view, replace(query, lens=lens))
    asked = [_asked(view, own) for view, own in queries.items()]
    hits = flows.several_views.recall_views(asked, use_cache=use_cache)
    return _without_reranker(hits) if rerank is None and any(map(_reranks, queries)) else hits


def _reranks(view: View) -> bool:
    return view._opened().reranker() is not None  # noqa: SLF001


def _without_reranker(hits: Hits) -> Hits:
    """Says that a configured reranker was not asked."""
    how, told = hits.explanation, "hits of several views are merged by score, without a reranker"
    note = told if how.note is None else f"{how.note}; {told}"
    return Hits(hits, replace(how, note=note))


def checked_views(given: object, kind: type[Kind]) -> list[Kind]:
    """Returns the views given as `also`; refuses what is no view, or not of this kind."""
    if isinstance(given, str | View | kind) or not isinstance(given, Iterable):
        shown = type(given).__name__
        raise InvalidInput(f"also takes a list of views, such as also=[team], not {shown}")
    views: list[Kind] = []
    for one in given:
        if not isinstance(one, kind):
            raise InvalidInput(_not_this_kind(one))
        views.append(one)
    return views


def _not_this_kind(given: object) -> str:
    if isinstance(given, View):
        return (
            "also has a blocking view, and this search is awaited; open the other view with "
            "memory_mesh.MemoryMesh, too, or search with memory_mesh.sync.MemoryMesh"
        )
    if isinstance(getattr(given, "_sync", None), View):
        return (
            "also has an async view, and this search is blocking; open the other view with "
            "memory_mesh.sync.MemoryMesh, too, or await the search of memory_mesh.MemoryMesh"
        )
    return (
        "also takes views, such as mesh.for_user('bob') or mesh.view(namespace='team'), "
        f"not {type(given).__name__}"
    )


def _asked(view: View, query: Query) -> "flows.several_views.Asked":
    access, scope = view._access(), query.lens.scope  # noqa: SLF001  # as every verb does
    folder = view._opened().folder.resolve()  # noqa: SLF001
    name = ViewName(
        str(folder),
        access.namespace,
        user_of(access.namespace),
        scope.project,
        scope.agent,
        scope.session,
    )
    return flows.several_views.Asked(access, query, name)
