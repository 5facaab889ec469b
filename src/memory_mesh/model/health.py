"""What a health check answers."""

from enum import StrEnum

from memory_mesh.fastdataclass import dataclass


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
