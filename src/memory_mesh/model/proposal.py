"""A change that waits for a person's decision."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model.memory import Json, Source


class ProposedVerb(StrEnum):
    """What a proposal would do to its memory."""

    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a memory that its writer may not make alone: who asks for what, when and why."""

    id: str
    verb: ProposedVerb
    memory: str  # the id of the memory that would change
    change: Mapping[str, Json]  # what the memory would say, by field; empty for a delete
    reason: str
    source: Source
    created: datetime
    decided_at: datetime | None = None
    approved: bool | None = None
    why: str | None = None  # the reason of the decision

    @property
    def pending(self) -> bool:
        """True while nobody has decided."""
        return self.decided_at is None

    @property
    def created_at(self) -> str:
        """When it was proposed, as ISO 8601."""
        from memory_mesh.model import record

        return record.iso(self.created)
