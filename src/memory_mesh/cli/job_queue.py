"""What `memory-mesh jobs` says of the queue of a store in PostgreSQL."""

import argparse

from memory_mesh.cli import output
from memory_mesh.model import Json
from memory_mesh.model.job import WEBHOOKS, QueuedJob
from memory_mesh.policy.users import shown_namespace
from memory_mesh.sync import MemoryMesh

_LINE = 160


def shown(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Prints what waits, runs and failed, after putting back what failed if that was asked."""
    from memory_mesh import worker

    back = worker.retry(mesh) if options.action == "retry" else None
    found = worker.queued(mesh, every_namespace=options.all)
    lines = [_line(each, named=options.all) for each in found]
    if back is not None:
        lines.insert(0, f"[MemoryMesh] Put back {output.counted(back, 'job')} that had failed.")
    elif not found:
        lines.append("[MemoryMesh] No job waits, runs or failed.")
    failed = any(each.state == "failed" for each in found)
    return output.answer(
        [_json(each) for each in found],
        *lines,
        as_json=options.json,
        remark="Try failed ones again: memory-mesh jobs retry" if failed else "",
    )


def _line(job: QueuedJob, *, named: bool) -> str:
    parts = [f"[MemoryMesh] {job.job} {job.state}"]
    if job.job == WEBHOOKS and job.state == "waits":
        parts[0] += " for a worker with sinks"
    if named:
        parts.append(f"in {shown_namespace(job.namespace)}")
    if job.done or job.total is not None:
        parts.append(f"{job.done} of {job.total}" if job.total is not None else f"{job.done} steps")
    if job.attempts:
        parts.append(output.counted(job.attempts, "attempt"))
    if job.failure is not None:
        parts.append(job.failure)
    return output.one_line(", ".join(parts), _LINE)


def _json(job: QueuedJob) -> Json:
    when = job.not_before
    return {
        "number": job.number,
        "job": job.job,
        "namespace": shown_namespace(job.namespace),
        "state": job.state,
        "attempts": job.attempts,
        "not_before": None if when is None else when.isoformat(timespec="seconds"),
        "done": job.done,
        "total": job.total,
        "failure": job.failure,
    }
