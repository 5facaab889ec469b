"""What a search asks of the ledger and the index, and in which order.

It knows ports, not engines. Which terms to ask, synonyms, spelling and budgets are still decided in
the SQLite ledger (engines/ledgers/sqlite/keywords.py).
"""

from collections.abc import Callable

from memory_mesh.fastdataclass import replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.prepare import PreparedQuery
from memory_mesh.model import (
    Body,
    Explanation,
    Query,
    Question,
    Space,
)
from memory_mesh.policy.ranking import (
    profiles,
    question as ranking_question,
    relevance,
)
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.text import analyze
from memory_mesh.ports import Snapshot


def read_question(query: Query) -> Reading:
    """Analyses the question; only the profile `mesh` reads times and speakers from it."""
    if query.profile != profiles.MESH:
        return Reading(query.text, tuple(analyze.query_terms(query.text)))
    return ranking_question.read(query.text, (), query.lens.now)


def name_speakers(snapshot: Snapshot, query: Query, reading: Reading) -> Reading:
    """Adds the speakers that the question names, if their memories are visible."""
    words = ranking_question.words(query.text) if query.profile == profiles.MESH else ()
    if not words:
        return reading
    return ranking_question.without_names(reading, snapshot.speakers(words, query.lens))


def gather(
    access: Access, snapshot: Snapshot, query: Query, prepared: PreparedQuery, pending: int = 0
) -> tuple[relevance.Legs, Explanation]:
    """Runs keyword and vector search to the profile's depth; `pending` texts have no vector."""
    head = snapshot.head()
    depth = profiles.depth(query.profile, query.limit, head.position)
    literal = query.profile == "rrf"  # RFC-0011 knows no other names of a word
    matches = snapshot.match(question_terms(query), query.lens, depth, literal=literal)
    explanation = Explanation(
        query.profile,
        dropped=matches.dropped,
        found_by_keyword=len(matches.found),
        to_reindex=head.old_texts if head.analyzer == analyze.ANALYZER else matches.rows,
    )
    if prepared.space is None:
        return relevance.Legs(matches), explanation
    ranked = query.profile in profiles.RANKED
    also = tuple(match.version for match in matches.found) if ranked else ()
    question = Question(
        prepared.space, prepared.vector, depth, also, body_search(access, prepared, prepared.space)
    )
    nearest = snapshot.near(question, query.lens)
    explanation = replace(
        explanation,
        space=prepared.space.name,
        pending=pending,
        found_by_vector=len(nearest.found),
        from_body=nearest.from_body,
    )
    return relevance.Legs(matches, (*nearest.found, *nearest.also)), explanation


def question_terms(query: Query) -> list[str]:
    """Returns the search terms: RFC-0011's tokens for profile `rrf`, else our analyzer's."""
    if query.profile == "rrf":
        return analyze.query_terms(" ".join(analyze.rfc_tokens(query.text)))
    return analyze.query_terms(query.text)


def body_search(
    access: Access, prepared: PreparedQuery, space: Space
) -> Callable[[Body, int], list[tuple[int, float]] | None] | None:
    """Returns the function with which the ledger asks the index, or None without an index."""
    index = access.index()
    if index is None:
        return None
    return lambda body, limit: index.near(
        access.namespace, space.name, body=body, vector=prepared.vector, limit=limit
    )
