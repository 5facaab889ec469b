"""Traces to consolidate: runs of a few tasks, as an agent would record them."""

from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh

LOGIN_STEPS = ("Run the login test fifty times", "Freeze the clock in the fixture")

# Two groups that have less in common at first than when the last goal is there.
GROWING_TOGETHER = (
    "rebuild search index tables",
    "rebuild search index tables now",
    "rebuild billing invoice exports",
    "rebuild search index, billing, invoice, exports",
)


def record_login(mesh: MemoryMesh, count: int, *, scope: Scope | None = None) -> list[str]:
    """Runs that fix the login test; every third one fails."""
    return [
        str(
            mesh.traces.record(
                f"Fix the flaky login test in build {number}",
                status="failure" if number % 3 == 2 else "success",
                duration_ms=100,
                tools_used=["pytest", "git"],
                steps=LOGIN_STEPS,
                learnings=["Freeze the clock in the fixture"],
                scope=scope,
            ).id
        )
        for number in range(count)
    ]


def record_deploys(mesh: MemoryMesh, count: int) -> list[str]:
    """Runs that deploy, each without steps."""
    return [
        str(mesh.traces.record("Deploy the shop to staging", tools_used=["kubectl"]).id)
        for _ in range(count)
    ]


def learnings(mesh: MemoryMesh, *, across: tuple[str, ...] = ()) -> dict[str, str]:
    """The texts of the learnings by their first line, without its heading."""
    found = mesh.get_all(filter="label = 'learning'", across=across)
    return {each.text.splitlines()[0].removeprefix("# Learning: "): each.text for each in found}
