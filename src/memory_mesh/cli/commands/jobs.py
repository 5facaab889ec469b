"""Commands for maintenance: upkeep, jobs, worker and setup-server."""

import argparse
import logging
from collections import Counter
from collections.abc import Iterator

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, adding, argument
from memory_mesh.cli.progress import Counting
from memory_mesh.model import Json, Scope, StoreError, times
from memory_mesh.model.job import WEBHOOKS, JobReport, JobStep, QueuedJob
from memory_mesh.rules.arguments import shown_namespace
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh.care.server import Prepared

_QUEUE_LINE = 160
_EXAMPLES = 3  # of what a job would do, in a plan

# upkeep

_DONE = {  # what due jobs did
    "learn": "learned",
    "extend": "learned",
    "merge": "merged",
    "archive": "archived",
    "prune": "archived",
    "compress": "packed",
    "stage": "staged",
    "dedupe": "merged",
    "contradictions": "decided",
    "corroboration": "confirmed",
    "digest": "digested",
}

_ALWAYS = ("reindexed", "embedded", "indexed", "pending")  # the counts that a line shows if 0


def _run_upkeep(options: argparse.Namespace) -> int:
    """Updates terms, vectors and the index where needed; can be interrupted and run again."""
    store_folder.check_after(options)
    with cli_options.mesh_of(options, meaning=True) as mesh:
        if options.cold:
            return _make_cold(mesh, options)
        if options.plan:
            return _show_plan(mesh, options)
        if options.all:
            return _run_all(mesh, options)
        counts = _upkeep(mesh, options)
    output.progress("")
    return output.answer(
        counts, f"[MemoryMesh] {_said(counts).capitalize()}.", as_json=options.json
    )


def _make_cold(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Sends the namespace to object storage now; with --all those that nobody uses."""
    from memory_mesh.care import server

    store_folder.need_server(mesh.config)
    counts = dict.fromkeys((*_ALWAYS, "pruned", "linked"), 0)
    if options.all:
        done = server.tidy(mesh.config)
    else:
        if not store_folder.cold_of(mesh, [shown_namespace(mesh.config.namespace)]):
            counts |= _upkeep(mesh, options)  # vectors that wait, records of reads: they go along
        frozen = server.make_cold(mesh.config)
        done = server.Tidied(() if frozen is None else (frozen,))
    for failure in done.failures:
        output.note(f"[MemoryMesh Error] {failure}")
    sent, size = len(done.frozen), sum(each.bytes for each in done.frozen)
    output.answer(
        {**counts, "cold": sent, "removed": done.removed},
        f"[MemoryMesh] {output.counted(sent, 'namespace')} sent to object storage, {size:,} bytes; "
        f"{output.counted(done.removed, 'archive')} of before removed there.",
        as_json=options.json,
    )
    return 1 if done.failures else 0


def _show_plan(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Says what upkeep would do in one namespace, or in each, and changes nothing."""
    views = store_folder.views(mesh, options.after) if options.all else [("", mesh)]
    found = {name: _planned(view) for name, view in views}
    lines = [
        f"[MemoryMesh] {name}{': ' if name else ''}{line}"
        for name, plan in found.items()
        for line in _plan_lines(plan)
    ]
    return output.answer(found if options.all else found[""], *lines, as_json=options.json)


def _planned(mesh: MemoryMesh) -> dict[str, Json]:
    """What waits, and what each job would do and why, with the first three examples of it."""
    stats, due = mesh.stats(), mesh.care.jobs()
    made = mesh.care.run_jobs([job.job for job in due], dry_run=True)
    return {
        "embed": mesh.care._to_embed(),  # noqa: SLF001  # of the model that upkeep would use
        "link": stats.to_link,
        "reindex": stats.to_reindex,
        "jobs": [
            {
                "job": job.job,
                "due": job.due.now,
                "why": job.due.why,
                "would": dict(Counter(step.action for step in report.steps)),
                "examples": [_told(step) for step in report.steps[:_EXAMPLES]],
            }
            for job, report in zip(due, made, strict=True)
        ],
    }


def _plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    yield f"would embed {plan['embed']}, link {plan['link']}, reindex {plan['reindex']}."
    for job in plan["jobs"]:
        would = ", ".join(f"{action} {count}" for action, count in job["would"].items())
        state = "due" if job["due"] else "not due, upkeep leaves it"
        yield f"{job['job']}: {state}: {job['why']}; would {would or 'do nothing'}."
        yield from (f"  {line}" for line in job["examples"])
        if more := sum(job["would"].values()) - len(job["examples"]):
            yield f"  and {more} more: memory-mesh jobs run {job['job']} --dry-run"


def _run_all(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Works on each namespace; one that cannot be opened is reported and passed over.

    What was done stays if the command is interrupted, and the next run does what is left: all of
    them once more, or only those after the last one that is done.
    """
    told: dict[str, Json] = {}
    total: Counter[str] = Counter()
    number = done = 0
    last: str | None = options.after
    try:
        for number, (name, view) in enumerate(store_folder.views(mesh, last), start=1):
            counts = _tried(view, options, name, number)
            last = name
            if counts is None:
                continue
            done += 1
            total.update(counts)
            if options.json:
                told[name] = dict(counts)
            elif any(counts.values()):
                output.progress("")
                output.say(f"[MemoryMesh] {name}: {_said(counts)}.")
    except KeyboardInterrupt:
        output.progress("")
        rest = "" if last is None else output.option("after", last)
        said = output.completed(f"To go on from here: memory-mesh upkeep --all{rest}", options)
        output.note(f"[MemoryMesh] {said}")
        raise
    output.progress("")
    output.answer(
        told,
        f"[MemoryMesh] {done} of {output.counted(number, 'namespace')}: {_said(total)}.",
        as_json=options.json,
    )
    return 0 if done == number else 1


def _tried(
    mesh: MemoryMesh, options: argparse.Namespace, name: str, number: int
) -> dict[str, int] | None:
    """Works on one of several namespaces; None if it cannot be opened."""
    where = f"{number}, {output.one_line(name, 40)}: "
    output.progress(where)
    try:
        return _upkeep(mesh, options, where)
    except StoreError as error:
        output.progress("")
        output.note(f"[MemoryMesh Error] {name}: {error}")
        return None


def _upkeep(mesh: MemoryMesh, options: argparse.Namespace, where: str = "") -> dict[str, int]:
    """Works on one namespace; returns what was done, by name."""
    rebuilt = mesh.care.rebuild_terms() if options.rebuild_terms else 0
    waiting = sum(state.pending for state in mesh.stats().spaces) if output.at_terminal() else None
    report = mesh.care.upkeep(progress=Counting("texts embedded", waiting, before=where))
    bodies = mesh.care.rebuild_index() if options.rebuild_index else list(report.bodies)
    return {
        "reindexed": rebuilt + report.reindexed,
        "embedded": report.embedded,
        "indexed": sum(body.rows for body in bodies),
        "pending": sum(state.pending for state in mesh.stats().spaces),
        "pruned": report.recalls_pruned,
        "linked": report.linked,
        **Counter(
            _DONE[action]
            for action in [step.action for job in report.jobs for step in job.steps]
            if action in _DONE
        ),
    }


def _said(counts: dict[str, int]) -> str:
    names = dict.fromkeys((*_ALWAYS, "linked", "pruned", *_DONE.values()))
    shown = (name for name in names if name in _ALWAYS or counts.get(name))
    return ", ".join(f"{name} {counts.get(name, 0)}" for name in shown)


UPKEEP = Command(
    "memory-mesh care upkeep --all",
    (
        argument(
            "--all", action="store_true", help="work on every namespace of the store, one by one"
        ),
        store_folder.add_after,
        argument(
            "--plan", action="store_true", help="say what would be done and why; change nothing"
        ),
        argument(
            "--cold",
            action="store_true",
            help="send the namespace to object storage now; with --all those that nobody uses",
        ),
        argument(
            "--rebuild-index",
            action="store_true",
            help="delete and rebuild the index of large stores",
        ),
        argument(
            "--rebuild-terms",
            action="store_true",
            help="compute the keyword terms of every text again",
        ),
    ),
    _run_upkeep,
)


# jobs

_LINE = 100


def _run_jobs(options: argparse.Namespace) -> int:
    """Lists the jobs, or runs them."""
    if options.names and options.action not in {"run", "retry"}:
        raise UsageError(f"name jobs after run: memory-mesh jobs run {options.names[0]}")
    if options.action == "retry" and not all(name.isdecimal() for name in options.names):
        raise UsageError("name what sinks never took by its number: memory-mesh jobs retry 12")
    working = options.action in {"run", "archive-project"}
    if options.dry_run and not working:
        raise UsageError("--dry-run goes with run: memory-mesh jobs run --dry-run")
    if options.all and options.action not in {None, "queue"}:
        raise UsageError("--all goes with queue: memory-mesh jobs queue --all")
    with cli_options.opened(options, meaning=working) as (mesh, reader):
        if options.action is None:
            options.action = "list" if mesh.config.store is None else "queue"
        if options.action in {"queue", "retry"}:
            return shown(mesh, options)
        if options.action == "list":
            reports = mesh.care.jobs()
        elif options.action == "archive-project":
            said = cli_options.given(options, MemoryMesh.care.archive_project)
            reports = mesh.care.archive_project(reader.project, as_owner=True, **said)
        else:
            reports = mesh.care.run_jobs(
                options.names or None,
                progress=lambda job, steps: output.progress(f"{job}: {steps} …"),
                scope=Scope() if options.all_projects else reader,
                across=("project", "agent", "session") if options.all_projects else (),
                **cli_options.given(options, MemoryMesh.care.run_jobs),
            )
    output.progress("")
    return output.answer(
        [
            {
                "job": report.job,
                "due": report.due.now,
                "why": report.due.why,
                **output.plain(report, "ran dry_run slices complete steps"),
            }
            for report in reports
        ],
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


JOBS = Command(
    "memory-mesh server jobs run --dry-run",
    (
        argument(
            "action",
            nargs="?",
            choices=("list", "run", "archive-project", "queue", "retry"),
            help="list what is due, run it, or consolidate and archive the project's traces; show "
            "the queue of a store in PostgreSQL (the default there) and what sinks never took, or "
            "put back what failed",
        ),
        argument(
            "names",
            nargs="*",
            metavar="JOB",
            help="jobs to run, due or not; default: those due. After retry: numbers of what sinks "
            "never took; default: all, and failed jobs",
        ),
        adding(cli_options.add_operation, MemoryMesh.care.run_jobs),
        argument(
            "--all-projects", action="store_true", help="name the records of every project, too"
        ),
        argument(
            "--all", action="store_true", help="show the queue of every namespace of the store"
        ),
    ),
    _run_jobs,
)


# worker

_WHAT_WORKER = """\
Every minute it puts in the jobs of the namespaces that changed or are due, and puts
back what workers were doing when they died. Run as many workers as you like, on any
machine with the key of the store. Ctrl-C ends it after the current slice of each job.
See what waits, runs and failed: memory-mesh jobs"""

_AWAY = "[MemoryMesh] The database cannot be reached; waiting for it. Stop with Ctrl-C."


def _run_worker(options: argparse.Namespace) -> int:
    """Does jobs until it is stopped."""
    from memory_mesh.mesh import worker

    cli_options.refuse_agent("worker", "it works on every namespace of the store")
    logging.getLogger("procrastinate").addHandler(logging.NullHandler())  # a failure is told once
    with cli_options.mesh_of(options, meaning=True) as mesh:
        begun = _begun(store_folder.shown(mesh.config))
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


WORKER = Command(
    "memory-mesh --store postgresql://app@localhost/memories server worker --concurrency 2",
    (
        about(_WHAT_WORKER),
        argument("--once", action="store_true", help="do what is ready to be done, and end"),
        argument(
            "--concurrency",
            metavar="N",
            type=int,
            default=1,
            help="jobs at once, 1 to 8; never two of one namespace (default: 1)",
        ),
        argument(
            "--every",
            metavar="SECONDS",
            type=int,
            default=60,
            help="how often to look which namespaces changed, 1 to 60 (default: 60)",
        ),
        argument(
            "--dead-after",
            metavar="SECONDS",
            type=float,
            default=30.0,
            help="put back the jobs of a worker without a sign of life for so long (default: 30)",
        ),
    ),
    _run_worker,
)


# setup-server

_WHAT_SETUP_SERVER = """\
Run it as the owner of the database, once, and again after an upgrade; processes that
use the store go on meanwhile. They connect as another role, which owns nothing, and
need the same key: state it with MEMORY_MESH_KEY_FILE, MEMORY_MESH_KEY or
MEMORY_MESH_KEY_COMMAND on every machine."""


def _run_setup_server(options: argparse.Namespace) -> int:
    """Runs the migrations that are missing and says where the key is."""
    from memory_mesh.care.server import set_up

    cli_options.refuse_agent("setup-server", "it changes the tables of a database")
    config = store_folder.config_of(options)
    done = set_up(config, login=options.login, archives=options.cold, places=options.places)
    where, ran = store_folder.shown(config), output.counted(len(done.ran), "migration")
    lines = [f"[MemoryMesh] {where} is ready: {ran} run, now at {done.newest}."]
    if options.login is not None:
        lines.append(f"The role {options.login} may use it.")
    lines += _about_key(done)
    return output.answer(
        {
            "store": where,
            "ran": list(done.ran),
            "newest": done.newest,
            "key_file": None if done.key_file is None else output.named(done.key_file),
            "key_variable": done.key_variable,
        },
        *lines,
        as_json=options.json,
    )


def _about_key(done: "Prepared") -> list[str]:
    """Where the key is, and what every process needs to find it."""
    back_up = "Back it up apart from the database."
    if done.key_variable is None:
        others = (
            "Processes of this machine find it by the address. Copy it to every other machine, and "
            "set MEMORY_MESH_KEY_FILE there."
        )
        return [f"Its key: {output.named(done.key_file or '')}. {back_up}", others]
    where = "" if done.key_file is None else f" ({output.named(done.key_file)})"
    keep = (
        f"Keep {done.key_variable} set in every process that uses the store, on every machine: "
        "shells, services, workers, agents. One without it is refused."
    )
    stated = f"Its key is stated by {done.key_variable}{where}; no copy of it was made."
    return [f"{stated} {back_up}", keep]


SETUP_SERVER = Command(
    "memory-mesh --store postgresql://owner@localhost/memories server setup --login app",
    (
        about(_WHAT_SETUP_SERVER),
        argument(
            "--login", metavar="ROLE", help="the role that processes connect as; it must exist"
        ),
        argument(
            "--places",
            type=int,
            metavar="N",
            help="make the directory of a fleet, whose servers share so many places; the number "
            "stays, 64 to 1024 is usual",
        ),
        argument(
            "--cold",
            metavar="ADDRESS",
            help="where archives of idle namespaces go: s3://BUCKET/PREFIX?endpoint=URL&days=90",
        ),
    ),
    _run_setup_server,
)


# What `memory-mesh jobs` says of the queue of a store in PostgreSQL.


def shown(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Prints what waits, runs and failed, after putting back what failed if that was asked."""
    from memory_mesh.mesh import worker

    numbers = [int(name) for name in options.names] or None
    back = worker.retry(mesh, numbers) if options.action == "retry" else None
    found = worker.queued(mesh, every_namespace=options.all)
    lines = [_line(each, named=options.all) for each in found]
    if back is not None:
        lines.insert(0, f"[MemoryMesh] Put back {back} that had failed.")
    elif not found:
        lines.append("[MemoryMesh] No job waits, runs or failed.")
    failed = any(each.state in {"failed", "dead"} for each in found)
    return output.answer(
        [_queued_json(each) for each in found],
        *lines,
        as_json=options.json,
        remark="Try failed ones again: memory-mesh jobs retry" if failed else "",
    )


def _line(job: QueuedJob, *, named: bool) -> str:
    parts = [f"[MemoryMesh] {job.job} {job.state}"]
    if job.state == "dead":
        parts[0] += f", number {job.number}"
    if job.job == WEBHOOKS and job.state == "waits":
        parts[0] += " for a process with sinks"
    if named:
        parts.append(f"in {shown_namespace(job.namespace)}")
    if job.done or job.total is not None:
        parts.append(f"{job.done} of {job.total}" if job.total is not None else f"{job.done} steps")
    if job.attempts:
        parts.append(output.counted(job.attempts, "attempt"))
    if job.not_before is not None:
        parts.append(f"next at {times.iso(job.not_before)}")
    if job.failure is not None:
        parts.append(job.failure)
    return output.one_line(", ".join(parts), _QUEUE_LINE)


def _queued_json(job: QueuedJob) -> Json:
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
