"""`memory-mesh worker`."""

import argparse
import logging
from collections.abc import Iterator

from memory_mesh.cli import options as cli_options, output, store_folder

EXAMPLE = "memory-mesh --store postgresql://app@localhost/memories worker --concurrency 2"
_WHAT = """\
Every minute it puts in the jobs of the namespaces that changed or are due, and puts
back what workers were doing when they died. Run as many workers as you like, on any
machine with the key of the store. Ctrl-C ends it after the current slice of each job.
See what waits, runs and failed: memory-mesh jobs"""

_AWAY = "[MemoryMesh] The database cannot be reached; waiting for it. Stop with Ctrl-C."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{parser.description or ''}\n\n{_WHAT}".strip()
    parser.add_argument("--once", action="store_true", help="do what is ready to be done, and end")
    parser.add_argument(
        "--concurrency", metavar="N", type=int, default=1,
        help="jobs at once, 1 to 8; never two of one namespace (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--every", metavar="SECONDS", type=int, default=60,
        help="how often to look which namespaces changed, 1 to 60 (default: 60)",
    )  # fmt: skip
    parser.add_argument(
        "--dead-after", metavar="SECONDS", type=float, default=30.0,
        help="put back the jobs of a worker without a sign of life for so long (default: 30)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Does jobs until it is stopped."""
    from memory_mesh import worker

    cli_options.refuse_agent("worker", "it works on every namespace of the store")
    logging.getLogger("procrastinate").addHandler(logging.NullHandler())  # a failure is told once
    with cli_options.mesh_of(options, meaning=True) as mesh:
        where = store_folder.shown(mesh.config)
        begun = _begun(where)
        done = worker.run(
            mesh,
            once=options.once,
            concurrency=options.concurrency,
            every=options.every,
            dead_after=options.dead_after,
            ready=lambda: None if options.once else output.note(next(begun)),
            away=lambda: output.note(_AWAY),
        )
    return output.answer(
        {"done": done.done, "retried": done.retried, "failed": done.failed},
        f"[MemoryMesh] Done {output.counted(done.done, 'job')}, "
        f"to be tried again {done.retried}, failed {done.failed}.",
        as_json=options.json,
    )


def _begun(where: str) -> Iterator[str]:
    """What it says when the database answers, at first and later."""
    yield f"[MemoryMesh] Working for {where}; stop with Ctrl-C."
    while True:
        yield "[MemoryMesh] The database answers; working again."
