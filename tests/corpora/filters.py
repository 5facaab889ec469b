"""Filters as people write them who come from mem0, Chroma, LangGraph, Pinecone, MongoDB or SQL.

MEMORIES is what is stored, RIGHT says which of them a filter selects, and WRONG what a filter that
is refused is told. A row of RIGHT has the mapping and the text that mean the same; None where a
form cannot say it. Written before the code that reads them.
"""

from memory_mesh.base.typed import Any, dataclass

MEMORIES: dict[str, dict[str, Any]] = {
    "a": {
        "team": "core", "priority": 3, "tags": ["db", "sql"], "archived": False, "score": 0.75,
        "owner": None, "areas": ["storage", "index"], "user_id": "alice",
    },
    "b": {
        "team": "core", "priority": "3", "tags": ["ui"], "archived": True, "score": 2,
        "areas": ["ui"], "user_id": "bob", "type": "note", "importance_score": 0.9,
    },
    "c": {
        "team": "web", "priority": 5, "areas": [], "odd key": "x", "a.b": 1, 'quote"d': "y",
        "back\\slash": "z", "größe": "groß", "project": "apollo", "due": "2026-03-01",
    },
    "d": {
        "Team": "Core", "priority": -1.5, "nested": {"deep": 1}, "levels": [1, 2, 3],
        "mixed": ["1", 1, True, None], "source": "import", "due": "2025-12-31", "third": 1 / 3,
    },
    "e": {},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Right:
    """One filter in both forms, and the memories that it selects."""

    style: str
    mapping: dict[str, Any] | None
    text: str | None
    ids: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """A filter that is refused, and a part of what the message says."""

    style: str
    given: Any
    says: str


RIGHT = [
    # Equality on a metadata key
    Right("all", {"team": "core"}, "team = 'core'", "ab"),
    Right("chroma", {"team": {"$eq": "core"}}, "team == 'core'", "ab"),
    Right("mem0", {"user_id": "alice"}, "user_id = 'alice'", "a"),
    Right("all", {"team": "nobody"}, "team = 'nobody'", ""),
    Right("all", {"Team": "Core"}, "Team = 'Core'", "d"),  # names of metadata keys have a case
    Right("all", {"team": "core", "priority": 3}, "team = 'core' AND priority = 3", "a"),
    Right("issue", {"team": "core", "priority": {"$gte": 3}, "tags": {"$contains": "db"}},
          "team = 'core' AND priority >= 3 AND tags = 'db'", "a"),
    # Types: text, number, boolean and null are told apart; a whole number is one with a point
    Right("all", {"priority": 3}, "priority = 3", "a"),
    Right("all", {"priority": "3"}, "priority = '3'", "b"),
    Right("all", {"priority": 3.0}, "priority = 3.0", "a"),
    Right("all", {"third": 1 / 3}, f"third = {1 / 3!r}", "d"),
    Right("all", {"archived": True}, "archived = true", "b"),
    Right("all", {"archived": False}, "archived = false", "a"),
    Right("all", {"archived": 1}, "archived = 1", ""),
    Right("all", {"score": True}, "score = true", ""),
    Right("all", {"nested": "x"}, "nested = 'x'", ""),  # an object equals nothing
    # Order
    Right("pinecone", {"priority": {"$gt": 3}}, "priority > 3", "c"),
    Right("pinecone", {"priority": {"$gte": 3}}, "priority >= 3", "ac"),
    Right("pinecone", {"priority": {"$lt": 3}}, "priority < 3", "d"),
    Right("pinecone", {"priority": {"$lte": 3}}, "priority <= 3", "ad"),
    Right("all", {"priority": {"$gte": "0"}}, "priority >= '0'", "b"),  # as text
    Right("mongo", {"priority": {"$gte": 0, "$lt": 4}}, "(priority >= 0 AND priority < 4)", "a"),
    Right("sql", None, "priority BETWEEN 0 AND 5", "ac"),
    Right("sql", None, "priority NOT BETWEEN 0 AND 5", "bde"),
    Right("all", {"due": {"$lt": "2026-01-01"}}, "due < '2026-01-01'", "d"),  # ISO texts in order
    Right("all", {"team": {"$gt": "d"}}, "team > 'd'", "c"),
    # Another value, or none
    Right("mongo", {"team": {"$ne": "core"}}, "team != 'core'", "cde"),
    Right("sql", None, "team <> 'core'", "cde"),
    Right("sql", {"$not": {"team": "core"}}, "NOT team = 'core'", "cde"),
    Right("sql", {"team": {"$not": {"$eq": "core"}}}, "NOT team = 'core'", "cde"),
    Right("sql", {"team": {"$ne": "core", "$exists": True}},
          "(team != 'core' AND team IS NOT NULL)", "c"),
    Right("mongo", {"priority": {"$not": {"$gt": 3}}}, "NOT priority > 3", "abde"),
    # One of several; a list means the same
    Right("chroma", {"team": {"$in": ["core", "web"]}}, "team IN ('core', 'web')", "abc"),
    Right("mem0", {"team": ["core", "web"]}, "team IN ('core', 'web')", "abc"),
    Right("chroma", {"priority": {"$in": [3, "3", 9]}}, "priority IN (3, '3', 9)", "ab"),
    Right("chroma", {"team": {"$nin": ["core"]}}, "team NOT IN ('core')", "cde"),
    Right("mongo", {"team": {"$in": [None, "web"]}}, "(team IS NULL OR team IN ('web'))", "cde"),
    # Lists: a test holds if it holds for one element
    Right("chroma", {"areas": {"$contains": "index"}}, "areas = 'index'", "a"),
    Right("mongo", {"areas": "ui"}, "areas = 'ui'", "b"),
    Right("mongo", {"areas": {"$in": ["ui", "index"]}}, "areas IN ('ui', 'index')", "ab"),
    Right("mongo", {"areas": {"$ne": "ui"}}, "areas != 'ui'", "acde"),
    Right("mongo", {"levels": {"$gte": 3}}, "levels >= 3", "d"),
    Right("mongo", {"mixed": 1}, "mixed = 1", "d"),
    Right("mongo", {"mixed": "1"}, "mixed = '1'", "d"),
    Right("mongo", {"mixed": True}, "mixed = true", "d"),
    Right("mongo", {"mixed": "true"}, "mixed = 'true'", ""),
    # There or not: null counts as not there, an empty list as there
    Right("pinecone", {"owner": {"$exists": False}}, "owner IS NULL", "abcde"),
    Right("mongo", {"owner": None}, "owner IS NULL", "abcde"),
    Right("mongo", {"team": {"$ne": None}}, "team IS NOT NULL", "abc"),
    Right("pinecone", {"areas": {"$exists": True}}, "areas IS NOT NULL", "abc"),
    Right("pinecone", {"nested": {"$exists": True}}, "nested IS NOT NULL", "d"),
    # Parts of a text
    Right("sql", {"due": {"$like": "2026-%"}}, "due LIKE '2026-%'", "c"),
    Right("sql", {"areas": {"$like": "%stor%"}}, "areas LIKE '%stor%'", "a"),
    Right("sql", {"team": {"$not": {"$like": "c%"}}}, "team NOT LIKE 'c%'", "cde"),
    # Joined
    Right("chroma", {"$and": [{"team": "core"}, {"priority": 3}]},
          "team = 'core' AND priority = 3", "a"),
    Right("chroma", {"$or": [{"team": "web"}, {"archived": True}]},
          "team = 'web' OR archived = true", "bc"),
    Right("mongo", {"$not": {"$or": [{"team": "core"}, {"team": "web"}]}},
          "NOT (team = 'core' OR team = 'web')", "de"),
    Right("mongo", {"team": "core", "$or": [{"priority": 3}, {"priority": "3"}]},
          "team = 'core' AND (priority = 3 OR priority = '3')", "ab"),
    Right("chroma", {"$and": [{"team": "core"}]}, "team = 'core'", "ab"),
    # Fields of ours stand above metadata of their name, which metadata.NAME reaches
    Right("all", {"tags": "db"}, "tags = 'db'", "a"),
    Right("all", {"tags": ["db", "ui"]}, "tags IN ('db', 'ui')", "ab"),
    Right("all", {"metadata.tags": "db"}, "metadata.tags = 'db'", "a"),
    Right("all", {"type": "note"}, "type = 'note'", "b"),
    Right("all", {"metadata.type": "note"}, "metadata.type = 'note'", "b"),
    Right("all", {"metadata.source": "import"}, "metadata.source = 'import'", "d"),
    Right("all", {"metadata.importance_score": {"$gt": 0.5}},
          "metadata.importance_score > 0.5", "b"),
    Right("all", {"importance": {"$gt": 0.5}}, "importance > 0.5", "b"),
    Right("all", {"project": "apollo"}, "project = 'apollo'", ""),  # nobody's audience is a project
    Right("all", {"metadata.project": "apollo"}, "metadata.project = 'apollo'", "c"),
    Right("all", {"metadata.team": "core"}, "metadata.team = 'core'", "ab"),
    Right("all", {"pinned": False}, "pinned = false", "abcde"),
    Right("all", {"content": {"$like": "%memory a%"}}, "content LIKE '%memory a%'", "a"),
    Right("all", {"created_at": {"$gte": "2020-01-01"}}, "created_at >= '2020-01-01'", "abcde"),
    # Names with other characters are quoted in a text
    Right("all", {"odd key": "x"}, "\"odd key\" = 'x'", "c"),
    Right("all", {'metadata."a.b"': 1}, '"a.b" = 1', "c"),
    Right("all", {'"a.b"': 1}, 'metadata."a.b" = 1', "c"),
    Right("all", {'quote"d': "y"}, "\"quote\"\"d\" = 'y'", "c"),
    Right("all", {"back\\slash": "z"}, "\"back\\slash\" = 'z'", "c"),
    Right("all", {"größe": "groß"}, "\"größe\" = 'groß'", "c"),
    Right("all", {"$or": [{"select": 1}, {"rowid": 1}]}, "select = 1 OR rowid = 1", ""),
    Right("all", {"x') OR ('1'='1": 1}, "\"x') OR ('1'='1\" = 1", ""),
]  # fmt: skip

_OPERATORS = "$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $contains, $like, $exists, $not"
WRONG = [
    # Operators that are not there
    Wrong("typo", {"priority": {"$gtee": 3}}, "'$gtee'; did you mean $gte?"),
    Wrong("typo", {"priority": {"$greater": 3}}, f"The operators are {_OPERATORS}."),
    Wrong("typo", {"team": {"$regex": "^c"}}, "'$regex'; $like takes a pattern of % and _"),
    Wrong("mem0", {"priority": {"gte": 3}}, "did you mean $gte? Only top-level"),
    Wrong("mem0", {"team": {"in": ["core"]}}, "did you mean $in? Only top-level"),
    Wrong("mem0", {"AND": [{"team": "core"}]}, "'AND'; did you mean $and?"),
    Wrong("mem0", {"OR": [{"team": "core"}]}, "'OR'; did you mean $or?"),
    Wrong("mem0", {"NOT": {"team": "core"}}, "'NOT'; did you mean $not?"),
    Wrong("mongo", {"$nor": [{"team": "core"}]}, "'$nor'; did you mean $or?"),
    Wrong("chroma", {"$contains": "db"}, "$contains belongs to a field"),
    Wrong("chroma", {"$document": {"$contains": "db"}}, "$and, $or, $not"),
    # Values of a type that can never fit
    Wrong("type", {"priority": {"$gte": True}}, "$gte takes a text or a number for 'priority'"),
    Wrong("type", {"priority": {"$gte": None}}, "$gte takes a text or a number for 'priority'"),
    Wrong("type", {"priority": {"$gte": [3]}}, "$gte takes a text or a number for 'priority'"),
    Wrong("type", {"team": {"$in": "core"}}, "$in takes a list of values, such as"),
    Wrong("type", {"team": {"$in": []}}, "$in takes at least one value"),
    Wrong("type", {"team": []}, "a list of values must have at least one"),
    Wrong("type", {"team": {"$in": [["core"]]}}, "not a list"),
    Wrong("type", {"team": {"$exists": "yes"}}, "$exists takes true or false"),
    Wrong("type", {"team": {"$like": 5}}, "$like takes a text"),
    Wrong("type", {"team": {"$like": "a\\"}}, "lone backslash"),
    Wrong("type", "priority BETWEEN 1 AND 'x'", "two values of one type"),
    Wrong("type", {"team": {"$contains": ["db"]}}, "$contains takes one value"),
    Wrong("type", {"team": b"core"}, "a text, a number, true, false or null, not bytes"),
    Wrong("type", {"team": float("nan")}, "not a number"),
    Wrong("type", {"team": 2**64}, "64 bits"),
    Wrong("type", {"importance": "high"}, "importance takes a number"),
    Wrong("type", {"importance": {"$gt": "0.5"}}, "importance takes a number"),
    Wrong("type", {"created_at": {"$gt": "yesterday"}}, "created_at takes a time such as"),
    Wrong("type", {"pinned": 1}, "pinned takes true or false"),
    Wrong("type", {"pinned": {"$gt": True}}, "pinned allows $eq, $ne, $in, $nin, $exists"),
    Wrong("type", {"tags": {"$gt": "a"}}, "tags allows $eq, $ne, $in, $nin, $contains, $like"),
    Wrong("type", {"kind": {"$contains": "fact"}}, '{"$like": "%word%"}'),
    Wrong("type", "importance > '0.5'", "expected a number for importance"),
    Wrong("type", "priority > true", "expected a 'text' in single quotes or a number"),
    Wrong("type", "team LIKE 5", "expected a 'text' in single quotes"),
    Wrong("type", "team = NULL", "expected IS NULL"),
    Wrong("type", "due > date '2026-01-01'", "metadata has no times: compare it with a 'text'"),
    # Nested metadata
    Wrong("nested", {"nested": {"deep": 1}}, "Only top-level"),
    Wrong("nested", {"nested.deep": 1}, "Only top-level metadata can be filtered"),
    Wrong("nested", {"metadata": {"team": "core"}}, "write metadata.team"),
    Wrong("nested", {"metadata.nested.deep": 1}, "Only top-level metadata can be filtered"),
    Wrong("nested", "nested.deep = 1", "Only top-level metadata can be filtered"),
    Wrong("nested", "metadata.nested.deep = 1", "Only top-level metadata can be filtered"),
    Wrong("nested", "metadata['team'] = 'core'", "write metadata.KEY"),
    Wrong("nested", "metadata->>'team' = 'core'", "write metadata.KEY"),
    Wrong("nested", "metadata = 'core'", "write metadata.KEY"),
    # Shapes
    Wrong("shape", {"$and": []}, "$and takes a list of at least one mapping"),
    Wrong("shape", {"$and": {"team": "core"}}, "$and takes a list of at least one mapping"),
    Wrong("shape", {"$or": ["team"]}, "$or takes a list of at least one mapping"),
    Wrong("shape", {"$or": [{}]}, "an empty mapping"),
    Wrong("shape", {"$not": ["team"]}, "$not takes a mapping"),
    Wrong("shape", {"team": {}}, "an empty mapping"),
    Wrong("shape", {"team": {"$not": "core"}}, "$not takes a mapping of operators"),
    Wrong("shape", {"team": {"$gte": "a", "lte": "b"}}, "did you mean $lte?"),
    Wrong("shape", {5: "core"}, "the name of a field must be text"),
    Wrong("shape", ["team"], "a text or a mapping"),
    Wrong("shape", '{"team": "core"', "not valid JSON"),
    Wrong("shape", '{"team": "core", "team": "web"}', "twice"),
    Wrong("shape", "team", "expected a comparison"),
    Wrong("shape", 'team = "core"', "text goes in 'single quotes'"),
    Wrong("shape", "größe = 'x'", "in double quotes"),
    Wrong("shape", "x" * 3_000 + " = 1", "2000 characters"),
    Wrong("shape", {"a": {"$in": ["x" * 1_000] * 60}}, "characters"),
    Wrong("shape", {"a": {"$in": list(range(300))}}, "at most 256 values"),
    Wrong("shape", {"$or": [{"a": 1}] * 70}, "at most 64 comparisons"),
]  # fmt: skip
