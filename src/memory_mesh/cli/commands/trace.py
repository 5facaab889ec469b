"""`memory-mesh trace`."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.context import fence
from memory_mesh.formats import trace_file
from memory_mesh.model import Channel, InvalidInput, Json, NotFound, Outcome, Scope
from memory_mesh.model.times import iso
from memory_mesh.model.trace import Step, Trace, Window, trace_record
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import moment
from memory_mesh.sync import MemoryMesh

_ACTIONS = ("record", "show", "list", "similar", "plan", "import", "export", "layout")
_SAID: dict[str, dict[str, Any]] = {  # of options in other words
    "status": {"choices": ("success", "failure")},
    "tools_used": {"flag": "--tool", "help": "a tool that it used; may be repeated"},
    "files_created": {"flag": "--file", "help": "a file that it created; may be repeated"},
    "steps": {
        "flag": "--step",
        "action": "append",
        "metavar": "TEXT",
        "help": "what it did; may end with ' - failure' or another status; may be repeated",
    },
    "learnings": {
        "flag": "--learning",
        "help": "what worked, or what to improve; may be repeated",
    },
    **{
        name: {"metavar": "ID", "help": f"the id of a trace that it {what}; may be repeated"}
        for name, what in (
            ("follows", "follows"), ("part_of", "is a part of"), ("depends_on", "depends on"),
        )
    },
    "limit": {"help": "the most of them (default: 3 similar, 5 in a plan, 100 listed)"},
}  # fmt: skip
_STATUSES = {"success", "failure", "failed", "skipped", "error"}
_METHODS: dict[str, Callable[..., object]] = {  # whose options an action takes
    "record": MemoryMesh.traces.record,
    "list": MemoryMesh.traces.get_all,
    "similar": MemoryMesh.traces.similar,
    "plan": MemoryMesh.traces.plan,
}
_MOST = 1_000  # results of one call
_NAMED = 20  # faults that an import names


def _run_trace(options: argparse.Namespace) -> int:
    """Records, shows, lists, imports and exports traces, and asks them about a task."""
    _refuse_others(options)
    channel = Channel.FILE if options.action == "import" else Channel.CLI
    meaning = options.action in {"similar", "plan", "import"}
    with cli_options.opened(options, meaning=meaning, channel=channel) as (mesh, reader):
        return _RUN[options.action](mesh, reader, options)


def _refuse_others(options: argparse.Namespace) -> None:
    """Refuses what was typed and belongs to another action."""
    method = _METHODS.get(options.action)
    taken = {*(() if method is None else cli_options.given(options, method))}
    for name in options.offered:
        if getattr(options, name) is not None and name not in taken:
            flag = _SAID.get(name, {}).get("flag", f"--{name.replace('_', '-')}")
            raise UsageError(
                f"trace {options.action} does not take {flag}. See: memory-mesh trace --help"
            )


def _record(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    said = cli_options.given(options, MemoryMesh.traces.record)
    if "steps" in said:
        said["steps"] = [_step(text) for text in said["steps"]]
    receipt = mesh.traces.record(_one(options, "a goal"), scope=Scope(reader.project), **said)
    if receipt.outcome is Outcome.REFUSED:
        raise InvalidInput("; ".join(receipt.reasons))
    found = mesh.traces.get(str(receipt.id), scope=reader)
    return output.answer(
        None if found is None else trace_record(found),
        f"[MemoryMesh] Recorded trace {receipt.id}",
        as_json=options.json,
    )


def _show(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    trace = _found(mesh, reader, _one(options, "the id of a trace"))
    text = trace_file.render(trace).removesuffix("\n")
    return output.answer(trace_record(trace), text, as_json=options.json)


def _list(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    page = mesh.traces(
        **cli_options.given(options, MemoryMesh.traces.get_all),
        time_window=_window(options),
        scope=reader,
        include=["archived"] if options.archived else (),
    )
    if options.json:
        traces: list[Json] = [trace_record(trace) for trace in page]
        output.say_json({"items": traces, "cursor": page.cursor})
        return 0
    for trace in page:
        began = "" if trace.timestamp is None else iso(trace.timestamp)
        print("\t".join((trace.trace_id, began, trace.status, output.unbroken(trace.goal))))
    if not page:
        output.tell([_none(options)])
    if page.cursor is not None:
        output.hint(f"There are more: repeat the command with --cursor {page.cursor}")
    return 0


def _none(options: argparse.Namespace) -> str:
    """Says that no trace is listed, and what may be done."""
    which = "of this time" if _window(options) else "of this project"
    if options.archived:
        return f"there are no traces {which}"
    return f"there are no traces {which}; archived ones: memory-mesh trace list --archived"


def _similar(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    found = mesh.traces.similar(
        _one(options, "a goal"),
        **cli_options.given(options, MemoryMesh.traces.similar),
        time_window=_window(options),
        scope=reader,
    )
    return output.answer(
        [match.record() for match in found],
        f"[MemoryMesh] {output.counted(len(found), 'similar task')}.",
        *fence.match_lines(found),
        as_json=options.json,
    )


def _plan(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    plan = mesh.traces.plan(
        _one(options, "a goal"),
        **cli_options.given(options, MemoryMesh.traces.plan),
        time_window=_window(options),
        scope=reader,
    )
    return output.answer(plan.record(), fence.plan_text(plan), as_json=options.json)


def _import(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    from memory_mesh.traces.files import import_files, import_text

    if not options.what:
        raise UsageError("name files or folders to import. See: memory-mesh trace --help")
    scope = Scope(reader.project)
    if options.what == ["-"]:
        done = import_text(mesh, "-", cli_options.standard_input(), scope=scope)
    else:
        done = import_files(mesh, [Path(each) for each in options.what], scope=scope)
    output.answer(
        {
            "stored": list(done.stored),
            "known": list(done.known),
            "faults": [{"name": masked(name), "reason": why} for name, why in done.faults],
        },
        f"[MemoryMesh] Imported {output.counted(len(done.stored), 'trace')}, "
        f"{len(done.known)} already known.",
        *(
            f"[MemoryMesh] Refused: {output.unbroken(masked(name))}: {output.unbroken(why)}"
            for name, why in done.faults[:_NAMED]
        ),
        as_json=options.json,
    )
    return 1 if done.faults else 0


def _export(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    from memory_mesh.traces.files import export_files

    if not options.what:
        raise UsageError("name a folder, or - for standard output. See: memory-mesh trace --help")
    target, *ids = options.what
    traces: Iterator[Trace] = (
        (_found(mesh, reader, id_) for id_ in ids) if ids else _all(mesh, reader, options)
    )
    if target == "-":
        sys.stdout.write(trace_file.render_all(list(traces)))
        return 0
    changed = export_files(traces, Path(target))
    line = f"[MemoryMesh] Wrote {len(changed)} trace files to {output.named(target)}."
    return output.answer(
        {"folder": output.named(target), "written": list(changed)}, line, as_json=options.json
    )


def _layout(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    from memory_mesh.traces.files import write_layout

    if len(options.what) > 1:
        raise UsageError("give at most one folder. See: memory-mesh trace --help")
    root = Path(options.what[0] if options.what else ".")
    done = write_layout(mesh, root, options.name, scope=reader)
    parts = ("written", "unchanged", "removed", "kept")
    counts = ", ".join(f"{len(getattr(done, part))} {part}" for part in parts)
    return output.answer(
        {
            "folder": output.named(done.folder),
            **{part: list(getattr(done, part)) for part in parts},
        },
        f"[MemoryMesh] {output.named(done.folder)}: {counts}.",
        *(f"[MemoryMesh] Not ours, left as it is: {path}" for path in done.kept),
        as_json=options.json,
    )


_RUN: dict[str, Callable[[MemoryMesh, Scope, argparse.Namespace], int]] = {
    "record": _record,
    "show": _show,
    "list": _list,
    "similar": _similar,
    "plan": _plan,
    "import": _import,
    "export": _export,
    "layout": _layout,
}


def _all(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> Iterator[Trace]:
    cursor = None
    while True:
        page = mesh.traces(limit=_MOST, cursor=cursor, time_window=_window(options), scope=reader)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return


def _found(mesh: MemoryMesh, reader: Scope, trace_id: str) -> Trace:
    found = mesh.traces.get(trace_id, scope=reader)
    if found is None:
        raise NotFound(
            f"there is no trace {trace_id} here. List the traces: memory-mesh trace list"
        )
    return found


def _one(options: argparse.Namespace, what: str) -> str:
    if len(options.what) != 1:
        raise UsageError(f"{options.action} needs {what}. See: memory-mesh trace --help")
    given: str = options.what[0]
    return given


def _step(text: str) -> Step:
    """A step as a trace file writes it: the text, then perhaps its status."""
    said, _, status = text.rpartition(" - ")
    return Step(said, status) if said and status in _STATUSES else Step(text)


def _window(options: argparse.Namespace) -> Window | None:
    since, until = moment("--since", options.since), moment("--until", options.until)
    return (since, until) if since or until else None


TRACE = Command(
    """memory-mesh trace record "Fix the login test" --tool pytest --step "Read the log"
  memory-mesh trace similar "The login test fails"
  memory-mesh trace plan "Fix the logout test"
  memory-mesh trace import traces/""",
    (
        argument("action", choices=_ACTIONS, metavar="ACTION", help=", ".join(_ACTIONS)),
        argument(
            "what",
            nargs="*",
            metavar="GOAL|ID|FILE",
            help="record, similar, plan: a goal; show: an id; import: files, folders or -; export: "
            "a folder and ids; layout: a folder",
        ),
        adding(cli_options.add_operation, MemoryMesh.traces.record, _SAID, ("trace_id",)),
        adding(cli_options.add_operation, MemoryMesh.traces.similar, _SAID, ("time_window",)),
        adding(
            cli_options.add_operation,
            MemoryMesh.traces.get_all,
            hidden=("time_window", "filter", "include"),
        ),
        adding(cli_options.add_period, "executions"),
        argument("--archived", action="store_true", help="list: also traces that were archived"),
        argument("--name", metavar="NAME", help="layout: the name of the project's folder"),
    ),
    _run_trace,
)
