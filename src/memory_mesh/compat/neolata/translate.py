"""neolata's words, checked and turned into ours, and back.

Stated corroboration and trust are never taken over: both are computed. A source that nobody knows
counts as an inference, and so does what states none.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any, TypedDict, TypeVar, fields
from memory_mesh.compat.neolata.model import GraphExplain, GraphHit, GraphMemory, GraphProvenance
from memory_mesh.model import (
    Claim,
    Conflict,
    Hit,
    InvalidInput,
    Memory,
    Resolution,
    SourceKind,
    Status,
)
from memory_mesh.model.query import And, Compare, Filter, IsNull, Or, Sign
from memory_mesh.rules.arguments import check_text, moment
from memory_mesh.rules.trust import is_unsupported, trust, trust_of, truth_votes
from memory_mesh.search.ranking.profiles import COMPOSITE_WEIGHTS, DEFAULT_IMPORTANCE

MAX_TEXT = 10_000  # characters
MAX_ITEMS = 1_000
MAX_CONFLICTS = 100  # conflicts of one memory that are shown
MAX_QUERIES = 100
TOKENS_PER_WORD = 0.75
BATCH = 64  # texts embedded at once
ON_CONFLICT = ("quarantine", "keep_active")
MANUAL = "manual"
ACTIONS = {"activate": True, "reject": False}
VISIBLE = frozenset(Status) - {Status.DELETED}
RELEVANCE_ONLY: Mapping[str, float] = dict.fromkeys(COMPOSITE_WEIGHTS, 0.0) | {"relevance": 1.0}
IMPORTANCE = DEFAULT_IMPORTANCE
MIN_IMPORTANCE = 0.4  # of a fact that `ingest` stores
_AGENT = re.compile(r"[A-Za-z0-9_\-. ]{1,64}")
_PROVENANCE = {"source", "source_id", "corroboration", "trust"}
_SPELLINGS = {"eventTime": "event_time", "onConflict": "on_conflict", "sourceId": "source_id"}
Item = TypeVar("Item")


class StoreOptions(TypedDict, total=False):
    """What `store` may be told beside agent and text."""

    category: str | None
    importance: float | str
    tags: Iterable[str]
    event_time: datetime | str | None
    claim: Claim | Mapping[str, object] | None
    provenance: Mapping[str, object] | None
    quarantine: bool | str | None
    on_conflict: str


def compute_trust(
    provenance: Mapping[str, object] | None = None,
    reinforcements: int = 0,
    disputes: int = 0,
    age_days: float = 0.0,
) -> float:
    """Trust from 0 to 1 by source, corroboration, votes and age."""
    said = _provenance(provenance)
    origins = said.get("corroboration", 1)
    if type(origins) is not int:
        raise InvalidInput("corroboration must be a whole number")
    return trust(
        _source(said),
        origins=origins,
        reinforcements=reinforcements,
        disputes=disputes,
        age_days=age_days,
    )


def estimate_tokens(text: str) -> int:
    """The tokens of a text by neolata's rule of thumb: three for four words, at least one."""
    return max(1, math.ceil(len(text.split()) * TOKENS_PER_WORD))


def agent_name(agent: object) -> str:
    """The agent's name, if it is one."""
    if not isinstance(agent, str) or not agent.strip() or _AGENT.fullmatch(agent) is None:
        raise InvalidInput("an agent's name has 1 to 64 letters, digits, spaces and _ - .")
    return agent


def details_of(text: object, options: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The text and the details of a draft from what `store` was given."""
    content = check_text(text, "text")
    if len(content) > MAX_TEXT:
        raise InvalidInput(f"the text has {len(content)} characters; the limit is {MAX_TEXT}")
    said = {_SPELLINGS.get(name, name): value for name, value in options.items()}
    unknown = said.keys() - StoreOptions.__annotations__.keys()
    if unknown:
        known = ", ".join(StoreOptions.__annotations__)
        raise InvalidInput(f"there is no option {min(unknown)!r}; known are {known}")
    on_conflict = said.get("on_conflict", "quarantine")
    if on_conflict not in ON_CONFLICT:
        raise InvalidInput(f"on_conflict must be one of: {', '.join(ON_CONFLICT)}")
    provenance = _provenance(said.get("provenance"))
    details: dict[str, object] = {
        "importance": said.get("importance", IMPORTANCE),
        "tags": said.get("tags", ()),
        "source_kind": _source(provenance),
        "keep_active": on_conflict == "keep_active",
    }
    given = {
        "kind": said.get("category"),
        "occurred_at": said.get("event_time"),
        "claim": said.get("claim"),
        "source_ref": provenance.get("source_id"),
        "quarantine": _quarantine(said.get("quarantine")),
    }
    return content, details | {name: value for name, value in given.items() if value is not None}


def weights_of(rerank: object) -> Mapping[str, float]:
    """The weights of a call: neolata's, the caller's over them, or relevance alone."""
    if rerank is False:
        return RELEVANCE_ONLY
    if rerank is None or rerank is True:
        return COMPOSITE_WEIGHTS
    if not isinstance(rerank, Mapping):
        raise InvalidInput(
            f"rerank must be false or weights by name: {', '.join(COMPOSITE_WEIGHTS)}"
        )
    for name, weight in rerank.items():
        if name not in COMPOSITE_WEIGHTS:
            raise InvalidInput(
                f"there is no weight {name!r}; there are {', '.join(COMPOSITE_WEIGHTS)}"
            )
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not math.isfinite(weight) or weight < 0:
            raise InvalidInput(f"the weight {name} must be a number of at least 0")
    return dict(COMPOSITE_WEIGHTS) | dict(rerank)


def statuses_of(
    wanted: Iterable[str], *, everything: bool, more: Mapping[Status, bool]
) -> set[Status]:
    """Which statuses a search returns; what was deleted is never among them."""
    if everything:
        return set(VISIBLE)
    words = [wanted] if isinstance(wanted, str) else list(wanted)
    if unknown := [word for word in words if word not in VISIBLE]:
        raise InvalidInput(
            f"there is no status {unknown[0]!r}; there are {', '.join(sorted(VISIBLE))}"
        )
    return {Status(word) for word in words} | {status for status, also in more.items() if also}


def between(after: object, before: object) -> Filter | None:
    """From `after` on and until before `before`, by when it happened, else by when it was told."""
    tests = [
        _happened(sign, found)
        for sign, found in (
            (Sign.AT_LEAST, moment("after", after)),
            (Sign.BELOW, moment("before", before)),
        )
        if found is not None
    ]
    return And(tuple(tests)) if len(tests) > 1 else tests[0] if tests else None


def bounded(name: str, items: Iterable[Item], most: int) -> list[Item]:
    """The items of a batch, if it is not too large."""
    found = list(items)
    if len(found) > most:
        raise InvalidInput(f"{len(found)} {name} are too many: at most {most} at once")
    return found


def shown(memory: Memory, conflicts: Sequence[Conflict], now: datetime) -> GraphMemory:
    """A memory in neolata's words; the conflicts are those it is part of."""
    source = memory.source
    return GraphMemory(
        id=memory.id,
        agent=memory.scope.agent or source.agent,
        memory=memory.text,
        category=memory.label or memory.kind.value,
        importance=DEFAULT_IMPORTANCE if memory.importance is None else memory.importance,
        tags=memory.tags,
        created_at=memory.created,
        updated_at=memory.recorded_from,
        event_time=memory.occurred_at,
        session_id=memory.scope.session,
        claim=memory.claim,
        provenance=GraphProvenance(source.kind, source.ref, memory.origins, trust_of(memory, now)),
        status=memory.status,
        quarantine=_reason(memory, conflicts),
        reinforcements=memory.reinforcements,
        disputes=memory.disputes,
        access_count=memory.uses,
        superseded_by=memory.successor,
        supersedes=tuple(
            each.existing
            for each in conflicts
            if each.new == memory.id and each.resolution is Resolution.SUPERSEDE
        ),
    )


def as_hit(memory: GraphMemory, score: float, explain: GraphExplain | None = None) -> GraphHit:
    """A memory with the score it answered with."""
    parts: dict[str, Any] = {item.name: getattr(memory, item.name) for item in fields(GraphMemory)}
    return GraphHit(**parts, score=score, explain=explain)


def explained(hit: Hit, *, preferred: bool) -> GraphExplain:
    """How a hit was found, and the parts of its rank."""
    return GraphExplain(
        {name: value for name, value in hit.parts.items() if name not in COMPOSITE_WEIGHTS},
        {name: hit.parts[name] for name in COMPOSITE_WEIGHTS} | {"score": hit.score},
        preferred,
    )


def session_first(hits: Sequence[Hit], session: str | None) -> tuple[list[Hit], set[str]]:
    """What the session says of a thing takes the better places of all that is said of it.

    The set holds the ids of those that others gave way to.
    """
    if session is None:
        return list(hits), set()
    places: dict[tuple[str, str], list[int]] = {}
    for place, hit in enumerate(hits):
        claim = hit.memory.claim
        if claim is not None:
            places.setdefault((claim.subject, claim.predicate), []).append(place)
    ordered, preferred = list(hits), set[str]()
    for among in places.values():
        own = [hits[place] for place in among if hits[place].memory.scope.session == session]
        others = [hits[place] for place in among if hits[place].memory.scope.session != session]
        if own and others:
            preferred |= {hit.id for hit in own}
            for place, hit in zip(among, [*own, *others], strict=True):
                ordered[place] = hit
    return ordered, preferred


def _happened(sign: Sign, at: datetime) -> Filter:
    told = And((IsNull("occurred_at"), Compare("created_at", sign, at)))
    return Or((Compare("occurred_at", sign, at), told))


def _provenance(given: object) -> dict[str, object]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput("provenance must be a mapping with source and sourceId")
    said = {_SPELLINGS.get(str(name), str(name)): value for name, value in given.items()}
    if unknown := said.keys() - _PROVENANCE:
        raise InvalidInput(f"provenance has no {min(unknown)!r}; it has source and sourceId")
    return said


def _source(provenance: Mapping[str, object]) -> SourceKind:
    said = provenance.get("source")
    return SourceKind(str(said)) if said in set(SourceKind) else SourceKind.INFERENCE


def _quarantine(given: object) -> str | None:
    if given is None or given is False:
        return None
    return MANUAL if given is True else check_text(given, "quarantine")


def _reason(memory: Memory, conflicts: Sequence[Conflict]) -> str | None:
    """Why a memory waits, in neolata's words or those of the caller who said so."""
    if memory.status is not Status.QUARANTINED:
        return None
    pending = [each for each in conflicts if each.pending and each.new == memory.id]
    if pending:
        weaker = any(each.new_trust < each.existing_trust for each in pending)
        return "trust_insufficient" if weaker else "predicate_requires_review"
    if is_unsupported(**truth_votes(memory)):
        return "disputed"
    said = memory.extra.get("quarantine")
    return said if isinstance(said, str) else MANUAL
