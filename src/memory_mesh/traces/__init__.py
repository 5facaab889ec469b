"""Traces of executions: a recorder for runs of agents, and the layout of a project's memory.

::

    from memory_mesh.traces import recording

    with recording(mesh, "Fix the login test") as run:
        run.step("Read the log")
"""

from memory_mesh.traces.recorder import Run, current, recorded, recording

__all__ = ["Run", "current", "recorded", "recording"]
