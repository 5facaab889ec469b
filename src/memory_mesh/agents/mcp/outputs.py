"""What each tool answers, as JSON schemas of the structured content."""

from memory_mesh.agents.mcp.schemas import IDS, list_of, object_of, or_null, text

_NOTICE = text("Says that what follows is quoted data.")
_NEXT = text("What to do next, if anything.")

STORE = object_of(
    {
        "outcome": text(
            "What became of it.",
            enum=["stored", "merged", "quarantined", "changed", "proposed"],
        ),
        "id": or_null(text("The id of the memory that holds it.")),
        "proposal_id": or_null(text("The proposal that waits for the user.")),
        "trust": text("Whose word it counts as."),
        "reasons": IDS | {"description": "Why."},
        "superseded": IDS | {"description": "Memories that it took the place of."},
        "newer_than": IDS | {"description": "Memories that it seems to update."},
        "for_review": IDS | {"description": "What now waits for the user's decision."},
        "redacted": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "Secrets and personal data that were replaced, by kind.",
        },
        "next": _NEXT,
    },
    "outcome",
    "id",
    "trust",
    "reasons",
    "next",
)
_FOUND = object_of(
    {
        "id": {"type": "string"},
        "first_line": {"type": "string"},
        "kind": {"type": "string"},
        "date": {"type": "string"},
        "trust": {"type": "string"},
        "tokens": {"type": "integer"},
        "score": {"type": "number"},
        "newer": {"type": ["string", "null"]},
    },
    "id",
    "first_line",
    "tokens",
    "score",
)
SEARCH = object_of(
    {
        "notice": _NOTICE,
        "memories": list_of(_FOUND, "The hits, best first."),
        "below": {
            "type": "integer",
            "description": "Candidates that the threshold left out.",
        },
        "best_below": {"type": ["number", "null"], "description": "The best of their scores."},
        "min_relevance": {"type": "number", "description": "The threshold that was used."},
        "next": _NEXT,
    },
    "notice",
    "memories",
    "below",
    "min_relevance",
    "next",
)
_READ = object_of(
    {
        "id": {"type": "string"},
        "content": {"type": "string"},
        "kind": {"type": "string"},
        "status": {"type": "string"},
        "trust": {"type": "string"},
        "source": {"type": ["string", "null"]},
        "project": {"type": ["string", "null"]},
        "tags": IDS,
        "importance": {"type": ["number", "null"]},
        "pinned": {"type": "boolean"},
        "created_at": {"type": "string"},
        "occurred_at": {"type": ["string", "null"]},
        "valid_until": {"type": ["string", "null"]},
        "tokens": {"type": "integer"},
    },
    "id",
    "content",
    "status",
    "trust",
    "created_at",
)
GET = object_of(
    {
        "notice": _NOTICE,
        "memories": list_of(_READ, "The memories, in the order asked for."),
        "missing": IDS | {"description": "Ids that no visible memory has."},
        "next": _NEXT,
    },
    "notice",
    "memories",
    "missing",
    "next",
)
CONTEXT = object_of(
    {
        "text": text("The memories, fenced and quoted; empty if none is relevant."),
        "tokens": {"type": "integer"},
        "injection_id": or_null(text("Names this reading; memory_explain says more.")),
        "memories": list_of(
            object_of(
                {
                    "id": {"type": "string"},
                    "section": {"type": "string"},
                    "tokens": {"type": "integer"},
                },
                "id",
                "section",
                "tokens",
            ),
            "What is in it, in its order.",
        ),
        "left_out": {"type": "integer", "description": "Candidates that are not in it."},
        "next": _NEXT,
    },
    "text",
    "tokens",
    "memories",
    "left_out",
    "next",
)
FORGET = object_of(
    {
        "outcome": text("What happened.", enum=["deleted", "proposed", "already_deleted"]),
        "id": {"type": "string"},
        "proposal_id": or_null(text("The proposal that waits for the user.")),
        "next": _NEXT,
    },
    "outcome",
    "id",
    "next",
)
FEEDBACK = object_of(
    {
        "id": {"type": "string"},
        "helpful": {"type": "integer", "description": "Votes for it so far."},
        "unhelpful": {"type": "integer", "description": "Votes against it so far."},
        "usefulness": {"type": "number", "description": "What the votes do to its rank."},
    },
    "id",
    "helpful",
    "unhelpful",
    "usefulness",
)
EXPLAIN = object_of(
    {
        "notice": _NOTICE,
        "id": {"type": "string"},
        "subject": text("What was explained: memory, block or injection."),
        "sentences": IDS | {"description": "The explanation."},
        "gate": or_null(text("The first thing that kept it out of the search.")),
        "place": {"type": ["integer", "null"], "description": "Its place; 1 is the best."},
        "score": {"type": ["number", "null"]},
    },
    "notice",
    "id",
    "subject",
    "sentences",
)
REFLECT = object_of(
    {
        "notice": _NOTICE,
        "text": text("The summary; empty if no two memories say the same."),
        "count": {"type": "integer", "description": "Memories looked at."},
        "sources": IDS | {"description": "Ids of the memories it rests on."},
        "confidence": {"type": "number"},
        "id": or_null(text("The id of the stored summary.")),
        "next": _NEXT,
    },
    "notice",
    "text",
    "count",
    "sources",
    "next",
)
