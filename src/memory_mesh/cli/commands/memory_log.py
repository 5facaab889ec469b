"""`memory-mesh memory-log`."""

import argparse
from collections.abc import Sequence

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument, one_of
from memory_mesh.formats import memory_log
from memory_mesh.model import Json, NotFound, Scope
from memory_mesh.model.learning import Experience, ExperienceSummary
from memory_mesh.sync import MemoryMesh


def _run_memory_log(options: argparse.Namespace) -> int:
    """Shows the log of experiences, writes it, archives or erases entries."""
    if (options.action == "search") != bool(options.query):
        raise UsageError('give words to search only: memory-mesh memory-log search "WORDS"')
    if options.action == "erase" and not options.all and options.of_project is None:
        raise UsageError("say what to erase: --of-project NAME or --all")
    with cli_options.opened(options) as (mesh, reader):
        match options.action:
            case "list":
                return _show(
                    mesh.traces.experiences(
                        **cli_options.given(options, MemoryMesh.traces.experiences)
                    ),
                    options,
                )
            case "search":
                return _show(
                    mesh.traces.search_experiences(options.query, limit=options.limit), options
                )
            case "summary":
                return _sum_up(mesh.traces.experience_summary(), options)
            case "write":
                path = mesh.traces.write_memory_log()
                told = f"[MemoryMesh] Wrote {path}"
                return output.answer({"path": path}, told, as_json=options.json)
            case "roll":
                moved = mesh.traces.roll_experiences()
                told = f"[MemoryMesh] Archived {output.counted(moved, 'entry')}."
                return output.answer({"archived": moved}, told, as_json=options.json)
            case _:
                return _erase(mesh.view(scope=Scope(reader.project)), options)


def _erase(mesh: MemoryMesh, options: argparse.Namespace) -> int:
    """Erases the entries of a project or all; a project that has none is an error."""
    erased = mesh.traces.erase_experiences(
        project=options.of_project,
        everything=options.all,
        **cli_options.given(options, MemoryMesh.traces.erase_experiences),
    )
    if options.of_project is not None and not erased:
        raise NotFound(
            f"nothing was erased: the log has no entry of a project {options.of_project!r}. Give "
            "its name as `memory-mesh project` shows it inside the work tree, or as --project or "
            "MEMORY_MESH_PROJECT has it; --all erases the entries of every project"
        )
    told = f"[MemoryMesh] Erased {output.counted(erased, 'entry')}."
    return output.answer({"erased": erased}, told, as_json=options.json)


def _show(found: Sequence[Experience], options: argparse.Namespace) -> int:
    """Prints the entries in the format of the log, or as JSON."""
    plain: list[Json] = [
        {
            "experience_id": one.experience_id,
            "project_name": one.project_name,
            "primary_goal": one.primary_goal,
            "final_outcome": one.final_outcome.value,
            "components_used": list(one.components_used),
            "files_created": one.files_created,
            "output_summary": one.output_summary,
            "execution_time_ms": one.execution_time_ms,
            "learnings_or_issues": one.learnings_or_issues,
            "timestamp": one.timestamp.isoformat(),
        }
        for one in found
    ]
    lines = [memory_log.render(one).rstrip("\n") for one in found]
    if not found:
        asked = options.action == "search" or options.before is not None
        empty = "The log is empty. Every trace that is recorded from now on leaves an entry."
        lines = [f"[MemoryMesh] {'The log has no such entry.' if asked else empty}"]
    return output.answer(plain, *lines, as_json=options.json)


def _sum_up(summary: ExperienceSummary, options: argparse.Namespace) -> int:
    names = "entries projects outcomes components files_created execution_time_ms"
    lines = [f"[MemoryMesh] {summary.entries} executions in {summary.projects} projects."]
    for name, counts in summary.outcomes.items():
        ended = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        lines.append(f"{name}: {ended}")
    used = ", ".join(f"{name} {count}" for name, count in summary.components.items())
    lines += [f"used: {used}"] if used else []
    return output.answer(output.plain(summary, names), *lines, as_json=options.json)


MEMORY_LOG = Command(
    'memory-mesh trace log search "failed release docker"',
    (
        argument(
            "action",
            choices=("list", "search", "summary", "write", "roll", "erase"),
            help="list or search entries, sum them up, write the log file, archive old entries, "
            "erase",
        ),
        argument("query", nargs="?", metavar="WORDS", help="search: what to look for"),
        adding(
            cli_options.add_operation,
            MemoryMesh.traces.experiences,
            {"limit": {"default": 20, "help": "the most entries shown (default: 20)"}},
        ),
        one_of(
            argument(
                "--of-project", metavar="NAME", help="erase: the project whose entries are removed"
            ),
            argument("--all", action="store_true", help="erase: remove all entries"),
        ),
        adding(
            cli_options.add_operation,
            MemoryMesh.traces.erase_experiences,
            hidden=("project", "everything"),
        ),
    ),
    _run_memory_log,
)
