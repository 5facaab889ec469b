"""Memory Lane's words for our values: its metadata object and the rows of its SQLite file.

::

    memory_type ◀▶ kind             confidence_score 0-100 ◀▶ confidence 0-1
    feedback_score ◀▶ usefulness    access_count, last_accessed_at ◀▶ uses, last used
    entity_slugs ◀▶ tags and extra  decay_factor ◀ computed when it is read

Columns win over the metadata of a row, and nothing that was stated is dropped.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any, TypeAlias, dataclass, replace
from memory_mesh.compat import moment
from memory_mesh.formats import json_text
from memory_mesh.model import (
    Channel,
    Draft,
    Json,
    Kind,
    Memory,
    Origin,
    times as model_times,
)
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import INTEGERS, check_metadata, check_text
from memory_mesh.rules.trust import HARMFUL, HELPFUL
from memory_mesh.search.ranking import fusion, profiles
from memory_mesh.text import analyzer
from memory_mesh.write.rules.drafts import draft_of

ENTITY_TYPES = ("person", "project", "business", "feature", "agent", "other", "chore")
MAX_SLUG_CHARS = 128  # characters of a slug with its type
_SLUG = re.compile(rf"({'|'.join(ENTITY_TYPES)}):([a-z0-9]+(?:-+[a-z0-9]+)*)")
_NAMED = re.compile(r"(?<![\w:/-])(project|agent|feature|person|business|chore):([a-z0-9-]+)")
_PLACED = re.compile(
    r"(?<![\w.-])(features|components|packages|apps|services|docs)/([A-Za-z0-9][\w.-]*)"
)
_PLACES = {
    "features": "feature",
    "components": "feature",
    "packages": "project",
    "apps": "project",
    "services": "project",
    "docs": "other",
}
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,5}$")

KEYWORDS, AUTO_TAGS = 10, 5  # terms that stand for a text
_SATURATION = 1.2  # BM25's k1
_MAX_COUNTED_CHARS = 8  # characters: a longer term says no more
_FILE = re.compile(r"[\w-]\.([a-z]{1,5})\b")
_WRITTEN_IN = {
    "css": "css",
    "go": "go",
    "html": "html",
    "js": "javascript",
    "jsx": "javascript",
    "md": "markdown",
    "py": "python",
    "rs": "rust",
    "sql": "sql",
    "ts": "typescript",
    "tsx": "typescript",
}

VERSION = "1.0.0"
COLLECTION = "memory-lane"
CONFIDENCE = 70.0  # confidence_score where none is stated
COLUMNS = (
    "id", "content", "metadata", "collection", "tags", "valid_from", "valid_until",
    "superseded_by", "auto_tags", "keywords", "created_at", "updated_at",
)  # fmt: skip
_MAX_ID_CHARS = 512
_KEPT = ("lane_version", "entity_slugs", "entities", "source_chunk")  # of a stored metadata object
_COMPUTED = frozenset(
    ["memory_type", "confidence_score", "decay_factor", "feedback_score", "feedback_count",
     "valid_from", "valid_until", "superseded_by", "access_count", "last_accessed_at", "tags"]
)  # fmt: skip
Row: TypeAlias = Mapping[str, object]
Check: TypeAlias = Callable[[str, object], Json]


@dataclass(frozen=True, slots=True)
class Sightings:
    """How often a memory was seen, first and last."""

    times: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A row read: the draft of its memory, what took its place, and the votes on it."""

    draft: Draft
    superseded_by: str | None = None
    helpful: int = 0
    harmful: int = 0


def checked(given: object) -> dict[str, Json]:
    """A MemoryLaneMetadata with its defaults; InvalidInput names the field that breaks it."""
    stated = check_metadata(given)
    if "memory_type" not in stated:
        raise InvalidInput(f"metadata needs a memory_type: one of {', '.join(TYPES)}")
    found = dict(stated)
    for name, (check, default) in _SCHEMA.items():
        value = found.get(name)
        if value is None:
            found[name] = list(default) if isinstance(default, tuple) else default
        else:
            found[name] = check(name, value)
    return found


def details(content: str, given: object) -> tuple[dict[str, Json], dict[str, Any]]:
    """What `add` is told of a memory: the metadata it keeps, and its promoted details."""
    said = checked(given)
    if said["superseded_by"]:
        raise InvalidInput(
            "what takes whose place is decided by claims and trust: state a claim instead"
        )
    slugs = _slugs(content, said)
    kept = _kept(said) | _derived(content, slugs)
    return kept, {
        "kind": str(said["memory_type"]),
        "confidence": _number(said["confidence_score"]) / 100,
        "tags": _tags(said["tags"], slugs),
        "valid_from": moment("valid_from", said["valid_from"]),
        "valid_until": moment("valid_until", said["valid_until"]),
    }


def read_row(row: Row) -> LaneRow:
    """A row of the table `memories`; InvalidInput says why it cannot be taken."""
    said, rest = _row_metadata(row)
    text = check_text(row.get("content"), "content")
    slugs = tuple(dict.fromkeys((*_texts(said["entity_slugs"]), *found(text))))
    start, end = _first(row, said, "valid_from"), _first(row, said, "valid_until")
    draft = draft_of(
        text,
        None,
        {
            "source_kind": "document",
            "confidence": _number(said["confidence_score"]) / 100,
            "tags": _tags([*_json_texts(row.get("tags")), *_texts(said["tags"] or ())], slugs),
            "valid_from": moment("valid_from", start),
            "valid_until": moment("valid_until", end),
        },
        agent_id="",
        channel=Channel.IMPORT,
    )
    kind, label = _kind(said["memory_type"])
    kept = (
        _kept(said)
        | {
            "entity_slugs": list(slugs),
            "collection": check_text(row.get("collection") or COLLECTION, "collection"),
        }
        | rest
    )
    votes = _number(said["feedback_count"])
    score = _number(said["feedback_score"])
    helpful, harmful = votes_behind(score, int(votes))
    if score != 1 or votes:  # which votes of ours may not make
        kept |= {"origin_feedback_score": score, "origin_feedback_count": int(votes)}
    successor = _first(row, said, "superseded_by")
    if successor is not None:
        kept["superseded_by"] = successor
    draft = replace(
        draft,
        kind=kind,
        label=label,
        extra=check_metadata(kept),
        origin=_origin(row, said),
        allow_duplicate=True,  # each row keeps its id
        quarantine=None if successor is None else f"{successor} took its place before it came here",
    )
    return LaneRow(draft, successor, helpful, harmful)


def words_of(text: str, extra: Mapping[str, Json]) -> dict[str, Json]:
    """The words that Memory Lane takes from a text, in place of those that `extra` has."""
    slugs = _texts(extra.get("entity_slugs") or ())
    found = {
        "auto_tags": json.dumps(list(auto_tags(text, slugs))),
        "keywords": " ".join(keywords(text)),
    }
    return {name: found[name] for name in found if name in extra}


def metadata(
    memory: Memory,
    now: datetime,
    *,
    observed: Sightings | None = None,
    supersedes: Sequence[str] = (),
) -> dict[str, Json]:
    """The MemoryLaneMetadata of a memory as it is now; observations where they were counted."""
    extra = memory.extra
    slugs = _texts(extra.get("entity_slugs") or ())
    said: dict[str, Json] = {
        "lane_version": extra.get("lane_version", VERSION),
        "memory_type": _memory_type(memory),
        "entity_slugs": list(slugs),
        "entities": extra.get("entities", []),
        "confidence_score": confidence_score(memory),
        "decay_factor": fusion.decay(memory, now),
        "tags": [tag for tag in memory.tags if tag not in slugs],
        "feedback_score": memory.usefulness,
        "feedback_count": memory.helpful + memory.harmful,
        "valid_from": _iso(memory.valid_from),
        "valid_until": _iso(memory.valid_until),
        "supersedes": [*dict.fromkeys([*_texts(extra.get("supersedes") or ()), *supersedes])],
        "superseded_by": memory.successor or extra.get("superseded_by"),
        "access_count": memory.uses,
        "last_accessed_at": _iso(memory.last_used),
    }
    if "source_chunk" in extra:
        said["source_chunk"] = extra["source_chunk"]
    if observed is not None:
        before = int(_number(extra.get("times_observed", 1)))
        stated = extra.get("last_observed_at") if observed.times == 1 else None
        said |= {
            "times_observed": before - 1 + observed.times,
            "first_observed_at": extra.get("first_observed_at") or _iso(observed.first),
            "last_observed_at": stated or _iso(observed.last),
        }
    return said


def file_row(memory: Memory, now: datetime, *, changed: bool = True) -> tuple[Json, ...]:
    """A memory as a row of Memory Lane's file; one that came in such a file goes as it came.

    Its time is that of the file unless it was `changed` here, its score until it is voted on here.
    """
    said = metadata(memory, now)
    count = int(_number(memory.extra.get("origin_feedback_count", 0)))
    score = _number(memory.extra.get("origin_feedback_score", 1.0))
    if memory.helpful + memory.harmful in (0, sum(votes_behind(score, count))):
        said |= {"feedback_score": score, "feedback_count": count}
    words = words_of(memory.text, {"auto_tags": True, "keywords": True} | dict(memory.extra))
    return (
        memory.id,
        memory.text,
        json.dumps(said, ensure_ascii=False),
        collection(memory),
        json.dumps(said["tags"], ensure_ascii=False),
        said["decay_factor"],
        said["valid_from"],
        said["valid_until"],
        said["superseded_by"],
        words["auto_tags"],
        words["keywords"],
        _iso(memory.created),
        _iso(memory.recorded_from) if changed else memory.extra["origin_updated_at"],
    )


def confidence_score(memory: Memory) -> float:
    """How sure the extractor was, from 0 to 100."""
    return CONFIDENCE if memory.confidence is None else round(memory.confidence * 100, 6)


def collection(memory: Memory) -> str:
    """The collection it is kept under."""
    stated = memory.extra.get("collection")
    return stated if isinstance(stated, str) else COLLECTION


def _row_metadata(row: Row) -> tuple[dict[str, Json], dict[str, Json]]:
    """The metadata object of a row, and beside it what could not be read as one."""
    raw, rest = row.get("metadata"), dict[str, Json]()
    try:
        stated = json_text.read(str(raw)) if raw not in (None, "") else {}
    except json_text.HugeNumber:
        raise
    except json_text.JsonFault:
        stated = None
    if not isinstance(stated, dict):
        stated, rest = {}, {"unread_metadata": str(raw)}
    word = stated.get("memory_type")
    known = isinstance(word, str) and word in TYPES
    said = checked({**stated, "memory_type": word if known else "learning"})
    said["memory_type"] = word if isinstance(word, str) and word else None
    for name in ("auto_tags", "keywords"):
        if row.get(name) not in (None, "", "[]"):
            rest[name] = str(row[name])
    rest["origin_updated_at"] = _iso(moment("updated_at", row.get("updated_at")))
    return said, rest


def _memory_type(memory: Memory) -> str:
    """One of the ten types: a user's preference is a commitment, another sort is a learning."""
    kind = profiles.LANE_KIND_OF.get(memory.kind, memory.kind)
    word = memory.label or kind.value
    return word if word in TYPES else "learning"


def _kind(word: Json) -> tuple[Kind, str | None]:
    """One of the ten types; any other word is kept as a label, and no word is a plain fact."""
    if not isinstance(word, str):
        return Kind.FACT, None
    return (Kind(word), None) if word in TYPES else (Kind.FACT, word)


def _origin(row: Row, said: Mapping[str, Json]) -> Origin:
    id_ = row.get("id")
    if not isinstance(id_, str) or not id_ or len(id_) > _MAX_ID_CHARS:
        raise InvalidInput(f"a row needs an id of at most {_MAX_ID_CHARS} characters")
    made = moment("created_at", row.get("created_at"))
    if made is None:
        raise InvalidInput("the row does not say when it was created")
    uses = int(_number(said["access_count"]))
    used = moment("last_accessed_at", said["last_accessed_at"])
    return Origin(check_text(id_, "id"), made, uses, used)


def _kept(said: Mapping[str, Json]) -> dict[str, Json]:
    """What has no place of its own: Lane's own fields, observations so far, and unknown keys."""
    absent = {"times_observed": 1, "supersedes": None}
    return {
        name: value
        for name, value in said.items()
        if (name in _KEPT or name not in _COMPUTED)
        and value is not None
        and value != absent.get(name)
    }


def _derived(content: str, slugs: Sequence[str]) -> dict[str, Json]:
    return {
        "collection": COLLECTION,
        "entity_slugs": list(slugs),
        "auto_tags": list(auto_tags(content, slugs)),
        "keywords": " ".join(keywords(content)),
    }


def _slugs(content: str, said: Mapping[str, Json]) -> tuple[str, ...]:
    stated = checked_entities(_texts(said["entity_slugs"]))
    return tuple(dict.fromkeys((*stated, *found(content))))


def _tags(stated: Json, slugs: Sequence[str]) -> tuple[str, ...]:
    """The writer's tags and the entities: a filter finds both in one place."""
    return tuple(dict.fromkeys((*_texts(stated or ()), *slugs)))


def _json_texts(raw: object) -> list[str]:
    """The texts of a JSON array; a column that is none has none."""
    try:
        found = json_text.read(str(raw)) if raw else []
    except json_text.JsonFault:
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _first(row: Row, said: Mapping[str, Json], name: str) -> str | None:
    """The column, else the metadata."""
    value = row.get(name) or said[name]
    return None if value is None else check_text(value, name)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else model_times.iso(at)


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _texts(value: Json) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [item for item in value if isinstance(item, str)]


def _text(name: str, value: object) -> Json:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}")
    return value


def _type(name: str, value: object) -> Json:
    if value not in TYPES:
        raise InvalidInput(f"{name} must be one of {', '.join(TYPES)}; not {shown(value)}")
    return str(value)


def _list(name: str, value: object) -> Json:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{name} must be a list")
    return list(value)


def _list_of_texts(name: str, value: object) -> Json:
    found = _list(name, value)
    if len(_texts(found)) != len(_list_items(found)):
        raise InvalidInput(f"{name} must be a list of texts")
    return found


def _list_items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) else ()


def _within(low: float, high: float) -> Check:
    def check(name: str, value: object) -> Json:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"{name} must be a number, not {shown(value)}")
        if not low <= value <= high:
            most = "" if high == math.inf else f" and at most {high:g}"
            raise InvalidInput(f"{name} must be at least {low:g}{most}, not {shown(value)}")
        return value

    return check


def _time(name: str, value: object) -> Json:
    _text(name, value)
    moment(name, value)
    return str(value)


TYPES = tuple(kind.value for kind in profiles.LANE_KIND_WEIGHTS)
_COUNT, _SCORE = _within(0, INTEGERS - 1), _within(0, sys.float_info.max)
_SCHEMA: Mapping[str, tuple[Check, Json]] = {
    "lane_version": (_text, VERSION),
    "memory_type": (_type, None),
    "entity_slugs": (_list_of_texts, ()),
    "entities": (_list, ()),
    "confidence_score": (_within(0, 100), CONFIDENCE),
    "decay_factor": (_within(0, 1), 1.0),
    "source_chunk": (_text, None),
    "tags": (_list_of_texts, None),
    "feedback_score": (_SCORE, 1.0),
    "feedback_count": (_COUNT, 0),
    "valid_from": (_time, None),
    "valid_until": (_time, None),
    "supersedes": (_list_of_texts, None),
    "superseded_by": (_text, None),
    "times_observed": (_COUNT, 1),
    "first_observed_at": (_time, None),
    "last_observed_at": (_time, None),
    "access_count": (_COUNT, 0),
    "last_accessed_at": (_time, None),
}
_MOST_VOTES = 200  # that are read back from a score


def votes_behind(score: float, count: int) -> tuple[int, int]:
    """How many helpful and harmful votes made a score; none where no such votes do."""
    if not 0 < count <= _MOST_VOTES or score <= 0:
        return 0, 0
    for harmful in range(count + 1):
        if math.isclose(HELPFUL ** (count - harmful) * HARMFUL**harmful, score, rel_tol=1e-6):
            return count - harmful, harmful
    return 0, 0


def effective_confidence(score: float, decay_factor: float) -> int:
    """A confidence from 0 to 100 after decay."""
    return round(score * decay_factor)


# Keywords and tags that Memory Lane gives a text.


def keywords(text: str) -> tuple[str, ...]:
    """The terms that say most about a text: often there, with BM25's saturation, and long.

    Ties keep the order of the text, so that the same text always has the same keywords.
    """
    weight = {
        term: times
        * (_SATURATION + 1)
        / (times + _SATURATION)
        * math.log1p(min(len(term), _MAX_COUNTED_CHARS))
        for term, times in Counter(analyzer.terms(text)).items()
    }
    return tuple(sorted(weight, key=lambda term: -weight[term])[:KEYWORDS])


def auto_tags(text: str, slugs: Sequence[str]) -> tuple[str, ...]:
    """Its entities, what the files it names are written in, and its first keywords."""
    written = [_WRITTEN_IN[ending] for ending in _FILE.findall(text) if ending in _WRITTEN_IN]
    return tuple(dict.fromkeys((*slugs, *written, *keywords(text)[:AUTO_TAGS])))


# Entities a memory is about, as `type:slug`: stated, named in the text, or told by a path in it.
#
# Only what is written there is found; nothing is made up where a text names nobody.


def found(text: str) -> tuple[str, ...]:
    """Every entity that a text names, in order of appearance, those of its paths last."""
    named = [f"{type_}:{name.strip('-')}" for type_, name in _NAMED.findall(text)]
    placed = [f"{_PLACES[place]}:{_slug(name)}" for place, name in _PLACED.findall(text)]
    return tuple(dict.fromkeys(slug for slug in (*named, *placed) if is_slug(slug)))


def checked_entities(slugs: Iterable[str]) -> tuple[str, ...]:
    """The slugs, each once; InvalidInput where one is none."""
    distinct = tuple(dict.fromkeys(slugs))
    for slug in distinct:
        if not is_slug(slug):
            raise InvalidInput(
                f"{shown(slug)} names no entity: write type:slug with a type of "
                f"{', '.join(ENTITY_TYPES)} and a slug of a-z, 0-9 and hyphens"
            )
    return distinct


def is_slug(text: str) -> bool:
    """True for `type:slug`."""
    return len(text) <= MAX_SLUG_CHARS and _SLUG.fullmatch(text) is not None


def _slug(name: str) -> str:
    """A file's or folder's name as a slug: `UserProfile.tsx` is `user-profile`."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", _ENDING.sub("", name))
    return re.sub(r"[^a-z0-9]+", "-", apart.lower()).strip("-")
