"""`memory-mesh trigger`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.config import load
from memory_mesh.model import Json
from memory_mesh.model.trigger import RelevantMemory, TriggerMatch
from memory_mesh.policy.triggers import checking, matching

EXAMPLE = 'memory-mesh trigger test "auth|login|security" "add login page"'
NO_MATCH = 1
_ACTIONS = {"test": 2, "list": 0, "find": 1, "prompt": 1}
_LINE = 80  # columns of a title and its triggers in a listing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "action",
        choices=tuple(_ACTIONS),
        help="test PATTERN TEXT (exit code 0: it matches, 1: it does not), list the memories with "
        "triggers, find what a TASK calls up, or print it as a prompt",
    )
    parser.add_argument("words", nargs="*", metavar="PATTERN TEXT | TASK", help="see above")
    parser.add_argument("--for-agent", metavar="NAME", help="find, prompt: who will do the task")
    parser.add_argument("--plan", metavar="TEXT", help="find, prompt: the plan of the task")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="maximum number (default: 5; list: 100)"
    )
    parser.add_argument(
        "--min-importance", metavar="LEVEL", help="find: low, medium, high or critical"
    )


def run(options: argparse.Namespace) -> int:
    """Tests a pattern, lists triggers, or shows what a task calls up."""
    wanted = _ACTIONS[options.action]
    if len(options.words) != wanted:
        what = {0: "no further words", 1: "one TASK in quotes", 2: "PATTERN and TEXT in quotes"}
        raise UsageError(f"trigger {options.action} takes {what[wanted]}. See: {EXAMPLE}")
    if options.action == "test":
        return _test(*options.words, as_json=options.json)
    if options.action == "list":
        return _list(options)
    return _find(options) if options.action == "find" else _prompt(options)


def _test(pattern: str, text: str, *, as_json: bool) -> int:
    met, problems = matching.match(pattern, text), checking.check(pattern)
    reads = checking.describe(pattern)
    shown = "no match" if met is None else f"match: {_match_line(met)}"
    output.answer(
        {
            "pattern": pattern,
            "matches": met is not None,
            "match": None if met is None else _match_json(met),
            "reads": list(reads),
            "problems": list(problems),
        },
        f"[MemoryMesh] {shown}",
        *(f"  reads as {line}" for line in reads),
        as_json=as_json,
    )
    if not as_json:
        output.tell(problems)
    return NO_MATCH if met is None else 0


def _list(options: argparse.Namespace) -> int:
    with cli_options.opened(options) as (mesh, reader):
        found = mesh.triggers(limit=options.limit or 100, scope=reader)
    problems = {
        memory.id: [said for pattern in memory.triggers for said in checking.check(pattern)]
        for memory in found
    }
    output.answer(
        [
            {"id": memory.id, **memory.frontmatter, "problems": list(problems[memory.id])}
            for memory in found
        ],
        f"[MemoryMesh] {output.counted(len(found), 'memory', 'memories')} with triggers.",
        *(
            f"{memory.id}  {output.one_line(memory.title, _LINE)}\n    "
            + output.one_line(", ".join(memory.triggers), _LINE)
            for memory in found
        ),
        as_json=options.json,
    )
    if not options.json:
        output.tell(f"{id_}: {said}" for id_, all_said in problems.items() for said in all_said)
    return 0


def _find(options: argparse.Namespace) -> int:
    with cli_options.opened(options, meaning=_by_meaning()) as (mesh, reader):
        found = mesh.find_relevant_memories(
            options.words[0],
            agent_name=options.for_agent or "",
            current_plan=options.plan,
            max_memories=options.limit,
            min_importance=options.min_importance,
            scope=reader,
        )
    return output.answer(
        [_relevant_json(each) for each in found],
        f"[MemoryMesh] The task calls up {output.counted(len(found), 'memory', 'memories')}.",
        *(
            f"{each.points:>3}  {each.id}  {output.one_line(each.title, _LINE)}\n     "
            + _match_line(each.match)
            for each in found
        ),
        as_json=options.json,
    )


def _prompt(options: argparse.Namespace) -> int:
    with cli_options.opened(options, meaning=_by_meaning()) as (mesh, reader):
        text = mesh.build_agent_prompt(
            options.for_agent or "",
            task=options.words[0],
            current_plan=options.plan,
            scope=reader,
        )
    return output.answer({"prompt": text}, *([text.rstrip("\n")] if text else []),
                         as_json=options.json)  # fmt: skip


def _by_meaning() -> bool:
    """True if a task may meet a trigger by meaning, which takes a model."""
    return load().trigger_min_similarity > 0


def _match_line(met: TriggerMatch) -> str:
    return (
        f"{output.unbroken(met.found)!r} by {output.unbroken(met.pattern)!r} "
        f"({met.form.value}, {met.strength.name.lower()})"
    )


def _match_json(met: TriggerMatch) -> dict[str, Json]:
    return {
        "pattern": met.pattern,
        "form": met.form.value,
        "strength": met.strength.name.lower(),
        "found": met.found,
    }


def _relevant_json(found: RelevantMemory) -> dict[str, Json]:
    return {
        "id": found.id,
        **found.memory.frontmatter,
        "points": found.points,
        "parts": dict(found.parts),
        "match": _match_json(found.match),
    }
