"""What a conversation loop hands to `MemoryContextManager` and is answered."""

from collections.abc import Mapping
from enum import StrEnum

from memory_mesh.model.memories import Json, Scope
from memory_mesh.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionContext:
    """What surrounded one exchange: tools and files it used, the skill at work, its audience."""

    tools_used: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    skill_name: str | None = None
    importance: float | None = None  # a caller who knows better than the rules
    tags: tuple[str, ...] = ()
    scope: Scope | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """How memories are written into a prompt."""

    max_content_chars: int = 500  # of one memory
    max_chars: int | None = None  # of all of it
    include_scores: bool = True


class Health(StrEnum):
    """How well a part works."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Check:
    """One part, how it does, and why."""

    name: str
    health: Health
    detail: str


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """Every part that was looked at; the worst of them is the status."""

    checks: tuple[Check, ...]

    @property
    def status(self) -> Health:
        """The worst of the checks."""
        order = tuple(Health)
        return max((check.health for check in self.checks), key=order.index, default=Health.HEALTHY)
