"""An agent that remembers: RFC-0011's loop from start to end, without a key or a network.

    python examples/agent_loop.py [FOLDER]

The task is a toy (it divides two numbers), the memory is real: run it twice on one folder and the
second run starts with the lesson of the first.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from memory_mesh import Hit, LessonContext, MemoryMesh


@dataclass(frozen=True)
class Outcome:
    """What the task came to."""

    output: str
    error: str | None = None


def divide(request: str, memories: Sequence[Hit], constraints: Sequence[str]) -> Outcome:
    """The agent's task, with what it remembers at hand: `divide 7 by 2`."""
    _, first, _, second = request.split()
    if float(second) == 0:
        if "Check that the divisor is not zero" in constraints:
            return Outcome(f"{request}: refused, the divisor is zero")
        return Outcome(f"{request}: failed", error="ZeroDivisionError: division by zero")
    return Outcome(f"{request} gives {float(first) / float(second):g} ({len(memories)} recalled)")


async def serve(request: str, folder: str, session: str) -> str:
    """One request: learn from lessons and memories, act, keep what came of it."""
    async with MemoryMesh(agent_id="MyAgent", enable_yamo=True, db_dir=folder) as mesh:
        lessons = await mesh.query_lessons(request, limit=5)
        constraints = [lesson.preventative_rule for lesson in lessons]
        memories = await mesh.search(request, limit=10)
        result = divide(request, memories, constraints)
        await mesh.add(
            result.output,
            {
                "type": "event",
                "source": "MyAgent",
                "rationale": "a later request may ask the same",
                "hypothesis": "divisions repeat",
                "session_id": session,
            },
        )
        if result.error:
            await mesh.distill_lesson(
                LessonContext(
                    situation=f"Asked to {request}",
                    error_pattern="division_by_zero",
                    oversight=result.error,
                    fix="Refused the request",
                    preventative_rule="Check that the divisor is not zero",
                    severity="high",
                    applicable_scope="divide requests",
                )
            )
    return result.output


def main() -> None:
    """Four requests in one session: the third knows a lesson, the last recalls the others."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = sys.argv[1] if len(sys.argv) > 1 else temporary
        for request in ("divide 7 by 2", "divide 1 by 0", "divide 1 by 0", "divide 7 by 4"):
            print(asyncio.run(serve(request, folder, "demo")))


if __name__ == "__main__":
    main()
