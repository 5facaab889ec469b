"""An experience: one entry of the system memory's log, in the words of specification 002."""

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
