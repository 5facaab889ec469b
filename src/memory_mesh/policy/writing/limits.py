"""Size limits of memories, metadata and skills."""

MEMORY_CHARS = 100_000  # of a memory's text: RFC-0011's implementation cuts off here
METADATA_DEPTH = 16
METADATA_ITEMS = 4_096
METADATA_CHARS = 65_536
METADATA_KEY_CHARS = 256

WRITE_SLICE = 256  # drafts per transaction: no other writer waits longer than one slice takes
SKILL_CHARS = 100_000
RESTORABLE_DAYS = 30  # how long a deleted memory can be restored
MAX_TRIGGERS = 32  # patterns of one memory
MAX_TRIGGER_CHARS = 1_000
PROPOSAL_CHARS = 200_000  # of all that one proposal says: a text, metadata and some details
MAX_PROPOSALS = 100  # of one memory that wait at the same time
