"""An experience: one entry of the system memory's log, in the words of specification 002."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory_mesh.fastdataclass import dataclass


class FinalOutcome(StrEnum):
    """How an execution ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    RECOVERED = "success_with_recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What one execution left in the log; times are kept to the millisecond."""

    number: int
    project_name: str
    primary_goal: str
    final_outcome: FinalOutcome
    components_used: tuple[str, ...] = ()
    files_created: int = 0
    output_summary: str = ""
    execution_time_ms: int = 0
    learnings_or_issues: str = ""
    timestamp: datetime

    @property
    def experience_id(self) -> str:
        """The id as the log writes it."""
        return f"exp_{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSummary:
    """What all experiences say together: figures, no texts."""

    entries: int
    projects: int
    outcomes: Mapping[str, Mapping[str, int]]  # executions by kind of task and outcome
    components: Mapping[str, int]  # executions that used an agent or tool, the most used first
    files_created: int
    execution_time_ms: int
