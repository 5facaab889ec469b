"""What a search asks of the ledger and the index, and in which order. It knows ports, not engines.

::

    Query ── read once ──▶ Reading(terms, names, times, what is asked for)
      ▼
    keyword leg            keyword_plan.py: terms, other names, spellings, budgets, visibility
      ▼
    vector leg             near(question, lens): body by index, tail by exact scan
      ▼
    Legs, and what an explanation tells of them
"""

from memory_mesh.fastdataclass import replace
from memory_mesh.flows import keyword_plan
from memory_mesh.flows.access import Access
from memory_mesh.flows.nearest import Ask, nearest as find_nearest
from memory_mesh.flows.prepare import PreparedQuery
from memory_mesh.flows.projects import names_in
from memory_mesh.model import Explanation, Query, Question, Space
from memory_mesh.model.stats import outgrown
from memory_mesh.policy.ranking import (
    profiles,
    question as ranking_question,
    relevance,
)
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.text import analyze
from memory_mesh.ports import Snapshot


def read_question(query: Query) -> Reading:
    """Analyses the question, once; only the profile `mesh` reads times and speakers from it."""
    profile = profiles.named(query.profile)
    if profile.weighs:
        return ranking_question.read(query.text, (), query.lens.now)
    terms = tuple(analyze.query_terms(query.text))
    if not profile.literal:
        return Reading(query.text, terms, asked=terms)
    tokens = " ".join(analyze.rfc_tokens(query.text))
    return Reading(query.text, terms, asked=tuple(analyze.query_terms(tokens)))


def with_project_names(snapshot: Snapshot, query: Query) -> Query:
    """The query with the further names of the reader's project, if nobody read them before."""
    lens, project = query.lens, query.lens.scope.project
    if not query.read_names or project is None:
        return query
    scope = replace(lens.scope, names=names_in(snapshot, project).all)
    return replace(query, lens=replace(lens, scope=scope), read_names=False)


def possible_names(query: Query) -> list[str]:
    """The words of the question that may name a speaker; only the profile `mesh` looks for them."""
    weighs = profiles.named(query.profile).weighs
    return ranking_question.words(query.text) if weighs else []


def name_speakers(snapshot: Snapshot, query: Query, reading: Reading, words: list[str]) -> Reading:
    """Adds the speakers that the question names, if their memories are visible."""
    if not words:
        return reading
    return ranking_question.without_names(reading, snapshot.speakers(words, query.lens))


def gather(
    access: Access, snapshot: Snapshot, query: Query, prepared: PreparedQuery, pending: int = 0
) -> tuple[relevance.Legs, Explanation]:
    """Runs keyword and vector search to the profile's depth; `pending` texts have no vector."""
    head, profile = snapshot.head(), profiles.named(query.profile)
    depth = profile.depth(query.limit, head.position)
    asked = prepared.reading.asked
    matches = keyword_plan.match(snapshot, asked, query.lens, depth, literal=profile.literal)
    explanation = Explanation(
        query.profile,
        dropped=matches.dropped,
        found_by_keyword=len(matches.found),
        to_reindex=head.old_texts if head.analyzer == analyze.ANALYZER else matches.rows,
    )
    if prepared.space is None:
        return relevance.Legs(matches), explanation
    also = tuple(match.version for match in matches.found) if profile.reorders else ()
    question = Question(prepared.space, prepared.vector, depth, also)
    ask = body_search(access, prepared, prepared.space)
    nearest = find_nearest(snapshot, question, query.lens, ask)
    explanation = replace(
        explanation,
        space=prepared.space.name,
        pending=pending,
        found_by_vector=len(nearest.found),
        from_body=nearest.from_body,
        outgrown=outgrown(nearest.scanned),
    )
    return relevance.Legs(matches, (*nearest.found, *nearest.also)), explanation


def body_search(access: Access, prepared: PreparedQuery, space: Space) -> Ask | None:
    """Returns the function that asks the index, or None without an index."""
    index = access.index()
    if index is None:
        return None
    return lambda body, limit, audiences: index.near(
        access.namespace,
        space.name,
        body=body,
        vector=prepared.vector,
        limit=limit,
        audiences=audiences,
    )
