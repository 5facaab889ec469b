"""Every limit of what a caller may hand in: lengths, counts and depths."""

MEMORY_CHARS = 100_000  # of a memory's text: RFC-0011's implementation cuts off here
METADATA_DEPTH = 16
METADATA_ITEMS = 4_096
METADATA_CHARS = 65_536
METADATA_KEY_CHARS = 256
INTEGER = 2**63 - 1  # SQLite's largest whole number

WRITE_SLICE = 256  # drafts per transaction: no other writer waits longer than one slice takes
SKILL_CHARS = 100_000
RESTORABLE_DAYS = 30  # how long a deleted memory can be restored
MAX_TRIGGERS = 32  # patterns of one memory
MAX_TRIGGER_CHARS = 1_000
PROPOSAL_CHARS = 200_000  # of all that one proposal says: a text, metadata and some details
MAX_PROPOSALS = 100  # of one memory that wait at the same time

TEXT_CHARS = 10_000_000  # of any other text: a document is cut into memories before it is stored
NAME_CHARS = 512  # of a name: speaker, session, key, label, id …
REASON_CHARS = 2_000
QUERY_CHARS = 200_000  # a question may quote a whole memory
TAGS = 256  # of one memory
TAG_CHARS = 512
SOURCES = 10_000  # ids that one memory may be derived from

LONGEST = {  # characters of a text by the name of its argument; any other has TEXT_CHARS
    "query": QUERY_CHARS,
    "question": QUERY_CHARS,
    "topic": QUERY_CHARS,
    "reason": REASON_CHARS,
    "a tag": TAG_CHARS,
} | dict.fromkeys(
    (
        "agent_name", "collection", "episode_id", "id", "kind", "label", "memory_id", "namespace",
        "session", "source_id", "target_id", "the status of a step", "title", "trace_id",
        "user_id",
    ),
    NAME_CHARS,
)  # fmt: skip


def unfit(text: str) -> str | None:
    """Returns why a text can be no memory: it is empty or too long."""
    if not text.strip():
        return "the text is empty"
    long = f"the text has {len(text)} characters; the limit is {MEMORY_CHARS}: split it"
    return long if len(text) > MEMORY_CHARS else None
