"""Commands about prompts: context, explain and trigger."""

import argparse
from datetime import UTC, datetime

from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.cli.plain_reasons import sentences
from memory_mesh.config import load
from memory_mesh.context import explain
from memory_mesh.context.fence import fence_word
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json
from memory_mesh.model.trigger import TriggerMatch
from memory_mesh.model.why import Gate, Why
from memory_mesh.rules.audience import AUDIENCE
from memory_mesh.search.ranking.profiles import NAMES
from memory_mesh.search.triggers import patterns
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh.model.pack import Pack

# context

_SAID: dict[str, dict[str, Any]] = {  # of options of `context` in other words
    "record": {
        "flag": "--no-record",
        "action": "store_false",
        "help": "keep no record of what entered the prompt",
    },
}


def _run_context(options: argparse.Namespace) -> int:
    """Prints the text for the prompt, and to standard error what did not fit."""
    with cli_options.mesh_of(options, meaning=not options.keyword) as mesh:
        view = cli_options.view_of(options, mesh, MemoryMesh.context)
        pack = mesh.context(" ".join(options.question) or None, **view)
    if options.json:
        output.say_json(pack.as_json())
        return 0
    if pack:
        output.say(pack.text)
    output.note(_summary(pack))
    sizes = [left.tokens for left in pack.left_out if left.by.value == "budget"]
    if sizes and not pack:
        output.hint(
            f"The shortest of them takes {min(sizes)} tokens, and the words around memories about "
            "80: give more with --max-tokens"
        )
    return 0


def _summary(pack: "Pack") -> str:
    """One line about the pack: how full it is, and what was left out."""
    if not pack and not pack.left_out:
        return "[MemoryMesh] Nothing is relevant enough."
    count = output.counted(len(pack), "memory")
    kept = f"{count}, {pack.tokens} of {pack.max_tokens} tokens"
    reasons = [one.by.value for one in pack.left_out]
    left = ", ".join(f"{reasons.count(by)} by {by}" for by in dict.fromkeys(reasons))
    return f"[MemoryMesh] {kept}; left out: {left or 'nothing'}."


CONTEXT = Command(
    'memory-mesh context "how do we deploy?" --max-tokens 800',
    (
        argument(
            "question", nargs="*", help="what the prompt is about; without it: a session's start"
        ),
        adding(cli_options.add_view, MemoryMesh.context, _SAID),
        argument("--keyword", action="store_true", help="search by keyword only, without a model"),
    ),
    _run_context,
)


# explain


def _run_explain(options: argparse.Namespace) -> int:
    """Prints the sentences, then the numbers."""
    id_ = cli_options.any_id(options, "explain")
    meaning = options.query is not None and not options.keyword_only
    with cli_options.mesh_of(options, meaning=meaning) as mesh:
        reader = cli_options.reader_of(mesh)
        with cli_options.looked_up(id_, reader, mesh, why=True):
            why = _asked(options, mesh.view(scope=reader), id_)
        if why.gate is Gate.NAMESPACE:
            raise cli_options.missing(id_, reader, mesh, why=True)
    told = sentences(why, datetime.now(UTC))
    if options.numbers:
        told += ["", *explain.lines(why)]
    lines = [safe_text(output.in_words(line), keep_newlines=False) for line in told]
    return output.answer(
        why.as_json(),
        *lines,
        as_json=options.json,
        remark="" if options.numbers else "The figures behind it: add --numbers",
    )


def _asked(options: argparse.Namespace, mesh: MemoryMesh, id_: str) -> Why:
    across = ("project",) if options.all_projects else ()
    see = tuple(sorted(AUDIENCE)) if options.see_all else across
    if not options.see_all and (id_.startswith("inj_") or fence_word(id_) is not None):
        see = (*across, "agent", "session")  # the user of the machine owns the agents' sessions
    if options.query is None:
        return mesh.explain(id_, see_across=see)
    return mesh.explain(
        id_, see_across=see, **cli_options.view_of(options, mesh, MemoryMesh.explain)
    )


EXPLAIN = Command(
    'memory-mesh explain mem_1767225600000_0a1b2c --query "dark themes"',
    (
        argument(
            "named", nargs="?", metavar="ID", help="of a memory, block or prompt; or its fence"
        ),
        argument("--id", metavar="ID", help="the same, as an option"),
        adding(cli_options.add_view, MemoryMesh.explain, {"profile": {"choices": NAMES}}),
        argument("--numbers", action="store_true", help="print the figures behind it, too"),
        argument(
            "--see-all",
            action="store_true",
            help="look at memories of other projects, agents and sessions, too",
        ),
    ),
    _run_explain,
)


# trigger

NO_MATCH = 1

_ACTIONS = {"test": 2, "list": 0, "find": 1, "prompt": 1}

_OF_FIND = {
    "agent_name": {"flag": "--for-agent"},
    "current_plan": {"flag": "--plan"},
    "max_memories": {"flag": "--limit", "help": "the most memories (default: 5; list: 100)"},
}

_LINE = 80  # columns of a title and its triggers in a listing


def _run_trigger(options: argparse.Namespace) -> int:
    """Tests a pattern, lists triggers, or shows what a task calls up."""
    wanted = _ACTIONS[options.action]
    if len(options.words) != wanted:
        what = {0: "no further words", 1: "one TASK in quotes", 2: "PATTERN and TEXT in quotes"}
        raise UsageError(f"trigger {options.action} takes {what[wanted]}. See: {TRIGGER.example}")
    if options.action == "test":
        return _test(*options.words, as_json=options.json)
    if options.action == "list":
        return _list(options)
    return _find(options) if options.action == "find" else _prompt(options)


def _test(pattern: str, text: str, *, as_json: bool) -> int:
    met, problems = patterns.match(pattern, text), patterns.check(pattern)
    reads = patterns.describe(pattern)
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
        found = mesh.care.triggers(limit=options.max_memories or 100, scope=reader)
    problems = {
        memory.id: [said for pattern in memory.triggers for said in patterns.check(pattern)]
        for memory in found
    }
    output.answer(
        [
            {"id": memory.id, **memory.frontmatter, "problems": list(problems[memory.id])}
            for memory in found
        ],
        f"[MemoryMesh] {output.counted(len(found), 'memory')} with triggers.",
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
        said = cli_options.given(options, MemoryMesh.find_relevant_memories)
        found = mesh.find_relevant_memories(options.words[0], scope=reader, **said)
    return output.answer(
        [
            {
                "id": each.id,
                **each.memory.frontmatter,
                "points": each.points,
                "parts": dict(each.parts),
                "match": _match_json(each.match),
            }
            for each in found
        ],
        f"[MemoryMesh] The task calls up {output.counted(len(found), 'memory')}.",
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
            options.agent_name or "",
            task=options.words[0],
            current_plan=options.current_plan,
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


TRIGGER = Command(
    'memory-mesh trigger test "auth|login|security" "add login page"',
    (
        argument(
            "action",
            choices=tuple(_ACTIONS),
            help="test PATTERN TEXT (exit code 0: it matches, 1: it does not), list the "
            "memories with "
            "triggers, find what a TASK calls up, or print it as a prompt",
        ),
        argument("words", nargs="*", metavar="PATTERN TEXT | TASK", help="see above"),
        adding(cli_options.add_operation, MemoryMesh.find_relevant_memories, _OF_FIND),
    ),
    _run_trigger,
)
