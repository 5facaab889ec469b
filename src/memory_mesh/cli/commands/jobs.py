"""`memory-mesh jobs`."""

import argparse
from collections import Counter

from memory_mesh.cli import job_queue, options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.model import Json, Scope
from memory_mesh.model.job import JobReport, JobStep

EXAMPLE = "memory-mesh jobs run --dry-run"
_LINE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "action", nargs="?", choices=("list", "run", "archive-project", "queue", "retry"),
        help="list what is due, run it, or consolidate and archive the project's traces; of a "
        "store in PostgreSQL: show the queue (the default there), or put failed jobs back",
    )  # fmt: skip
    parser.add_argument(
        "names", nargs="*", metavar="JOB", help="jobs to run, due or not; default: those due"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument(
        "--max-slices", metavar="N", type=int,
        help="stop after N transactions; the next run goes on",
    )  # fmt: skip
    parser.add_argument(
        "--all-projects", action="store_true", help="name the records of every project, too"
    )
    parser.add_argument(
        "--all", action="store_true", help="show the queue of every namespace of the store"
    )


def run(options: argparse.Namespace) -> int:
    """Lists the jobs, or runs them."""
    if options.names and options.action != "run":
        raise UsageError(f"name jobs after run: memory-mesh jobs run {options.names[0]}")
    working = options.action in {"run", "archive-project"}
    if options.dry_run and not working:
        raise UsageError("--dry-run goes with run: memory-mesh jobs run --dry-run")
    if options.all and options.action not in {None, "queue"}:
        raise UsageError("--all goes with queue: memory-mesh jobs queue --all")
    with cli_options.opened(options, meaning=working) as (mesh, reader):
        if options.action is None:
            options.action = "list" if mesh.config.store is None else "queue"
        if options.action in {"queue", "retry"}:
            return job_queue.shown(mesh, options)
        if options.action == "list":
            reports = mesh.jobs()
        elif options.action == "archive-project":
            reports = mesh.archive_project(reader.project, dry_run=options.dry_run, as_owner=True)
        else:
            reports = mesh.run_jobs(
                options.names or None,
                dry_run=options.dry_run,
                max_slices=options.max_slices,
                progress=lambda job, steps: output.progress(f"{job}: {steps} …"),
                scope=Scope() if options.all_projects else reader,
                across=("project", "agent", "session") if options.all_projects else (),
            )
    output.progress("")
    return output.answer(
        [_json(report) for report in reports],
        *(line for report in reports for line in _lines(report)),
        as_json=options.json,
        remark=_remark(reports, options),
    )


def _lines(report: JobReport) -> list[str]:
    if not report.ran:
        state = "due" if report.due.now else "not due"
        return [f"[MemoryMesh] {report.job}: {state}: {report.due.why}."]
    counts = Counter(step.action for step in report.steps)
    said = ", ".join(f"{action} {count}" for action, count in counts.items()) or "nothing to do"
    would = "would " if report.dry_run else ""
    rest = "" if report.complete else "; it stopped at --max-slices, run it again"
    lines = [f"[MemoryMesh] {report.job}: {would}{said}{rest}."]
    return lines + [f"  {_told(step)}" for step in report.steps]


def _told(step: JobStep) -> str:
    ids = f"{', '.join(step.ids)}  " if step.ids else ""
    return output.one_line(f"{step.action:<8}  {ids}{step.about}", _LINE)


def _remark(reports: list[JobReport], options: argparse.Namespace) -> str:
    if options.action == "list" and any(report.due.now for report in reports):
        return (
            "Run them: memory-mesh jobs run. See what they would do: memory-mesh jobs run --dry-run"
        )
    if any(step.action == "stage" for report in reports for step in report.steps):
        return "Skills wait for review: memory-mesh review"
    return ""


def _json(report: JobReport) -> Json:
    return {
        "job": report.job,
        "due": report.due.now,
        "why": report.due.why,
        "ran": report.ran,
        "dry_run": report.dry_run,
        "slices": report.slices,
        "complete": report.complete,
        "steps": [
            {
                "action": step.action,
                "about": step.about,
                "ids": list(step.ids),
                "evidence": list(step.evidence),
            }
            for step in report.steps
        ],
    }
