"""What a run of a mirror did, or would do, in words and as JSON."""

import dataclasses
from collections.abc import Mapping

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Json

_ORDER = (
    "added", "changed", "proposed", "deleted", "restored", "moved", "linked", "written",
    "removed", "agreed", "disagreements", "refused", "notes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened: to which file and memory, and what there is to say about it."""

    path: str
    title: str = ""
    memory: str | None = None
    words: str = ""

    def plain(self) -> dict[str, Json]:
        """The line as JSON."""
        said: Mapping[str, Json] = {
            "file": self.path,
            "title": self.title or None,
            "id": self.memory,
            "why": self.words or None,
        }
        return {key: value for key, value in said.items() if value is not None}


@dataclasses.dataclass(slots=True)
class MirrorReport:
    """Every thing that a run did, by kind; `dry` if it only says what it would do."""

    dry: bool = False
    files: int = 0  # in the folder
    read: int = 0  # that were opened
    added: list[Line] = dataclasses.field(default_factory=list)  # documents that became memories
    changed: list[Line] = dataclasses.field(default_factory=list)  # that became the next version
    proposed: list[Line] = dataclasses.field(default_factory=list)  # that wait for a decision
    deleted: list[Line] = dataclasses.field(default_factory=list)  # memories
    restored: list[Line] = dataclasses.field(default_factory=list)
    moved: list[Line] = dataclasses.field(default_factory=list)
    linked: list[Line] = dataclasses.field(default_factory=list)
    written: list[Line] = dataclasses.field(default_factory=list)  # documents
    removed: list[Line] = dataclasses.field(default_factory=list)
    agreed: list[Line] = dataclasses.field(default_factory=list)  # both sides changed to the same
    disagreements: list[Line] = dataclasses.field(default_factory=list)
    refused: list[Line] = dataclasses.field(default_factory=list)
    notes: list[Line] = dataclasses.field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """True if nothing happened and nothing waits."""
        return not any(getattr(self, name) for name in _ORDER)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each kind there were, without those that did not occur."""
        found = {name: len(getattr(self, name)) for name in _ORDER}
        return {name: count for name, count in found.items() if count}

    def plain(self) -> dict[str, Json]:
        """The report as JSON."""
        lines: dict[str, Json] = {
            name: [line.plain() for line in getattr(self, name)] for name in _ORDER
        }
        return {"dry_run": self.dry, "files": self.files, "read": self.read} | lines
