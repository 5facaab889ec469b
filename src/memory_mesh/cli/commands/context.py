"""Commands about prompts: context, explain and trigger.

`explain` prints sentences; the numbers behind them where they are asked for.
"""

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memory_mesh.base.typed import Any
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.cli.found import ago
from memory_mesh.config import load
from memory_mesh.context import explain
from memory_mesh.context.fence import fence_word
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Hit, Json, Memory, SourceKind
from memory_mesh.model.pack import Pack
from memory_mesh.model.trigger import TriggerMatch
from memory_mesh.model.why import Gate, Why
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.search.ranking.profiles import NAMES
from memory_mesh.search.triggers import patterns
from memory_mesh.sync import MemoryMesh

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SOURCES = {
    SourceKind.USER_EXPLICIT: "You said it yourself",
    SourceKind.SYSTEM: "The system recorded it",
    SourceKind.TOOL_OUTPUT: "It is what a tool printed",
    SourceKind.USER_IMPLICIT: "An agent took it from what you said",
    SourceKind.DOCUMENT: "It was read in a document",
    SourceKind.INFERENCE: "An agent concluded it by itself",
}
_TRUSTED = ((0.8, "fully"), (0.51, "mostly"), (0.0, "little"))
_CLOSE = 0.02  # a difference in meaning that is worth a word
_NEAR = 0.55  # the least similarity that is called close
_ALIKE = 0.5  # the share of common words of two texts that say the same
_COVERED = (  # the share of the words of a question that a text has
    (0.99, "all of your words"), (0.5, "most of your words"), (0.01, "some of your words"),
    (0.0, "none of your words"),
)  # fmt: skip


def sentences(why: Why, now: datetime) -> list[str]:
    """The sentences: why it stands where it stands, or what became of it."""
    if why.gate is None and why.rank is not None and why.packed is None and why.answer:
        own = next((hit for hit in why.answer if hit.id == why.id), None)
        if own is not None:
            return list(_found(own, why.answer, why.rank.place))
    if why.rank is not None and why.gate in {Gate.LIMIT, Gate.THRESHOLD}:
        return list(_kept_out(why.gate, why.rank.place, len(why.answer)))
    if why.subject == "memory" and why.question is None and why.memory is not None:
        told = _came_in(why.memory, now), *why.sentences[1:]
        trusted = next(word for least, word in _TRUSTED if why.trust["trust"] >= least)
        trust = f"It is trusted {trusted}."
        return [trust if line.startswith("Its trust is ") else line for line in told]
    return [line for line in why.sentences if not line.startswith(("For it: ", "Against it: ",
            "What it could have "))]  # fmt: skip


def _found(own: Hit, answer: Sequence[Hit], place: int) -> Iterator[str]:
    """Why a hit has its place: what stands above it, then what speaks for it."""
    above = answer[: answer.index(own)]
    if above:
        yield f"It is {_named(place, _PLACES)} because {_others(own, above)}."
    elif len(answer) > 1:
        yield f"It is first of {len(answer)}: {_named(len(answer) - 1, _COUNTS)} answer less well."
    else:
        yield "It is the only answer."
    near = ", and its meaning is close to your question" if _part(own, "cosine") >= _NEAR else ""
    words = next(said for least, said in _COVERED if _part(own, "covered") >= least)
    yield f"It has {words}{near}."
    parts = own.parts
    if parts.get("in_period", 0) > 0:
        yield "It is of the time that you name."
    if parts.get("speaker"):
        yield "It was said by the person that you name."
    if own.memory.usefulness != 1:
        better = own.memory.usefulness > 1
        yield f"Votes say that it was {'helpful' if better else 'not helpful'}, which counts."
    if own.newer in {hit.id for hit in answer}:
        yield f"It seems to be updated by {own.newer}."


def _kept_out(gate: Gate, place: int, shown: int) -> Iterator[str]:
    """Why a memory that could be found is not shown, and what shows it."""
    if gate is Gate.LIMIT:
        yield f"It comes {_named(place, _PLACES)}, and the search shows {_named(shown, _COUNTS)}."
        yield f"To see it: --limit {max(place, shown + 1)}"
    else:
        yield "It has too little to do with the question to be shown."
        yield "To see it: --min-relevance 0"


def _others(own: Hit, above: Sequence[Hit]) -> str:
    """What the hits above have more of."""
    since = own.memory.occurred_at or own.memory.created
    newer = all((hit.memory.occurred_at or hit.memory.created) > since for hit in above)
    alike = all(_same(hit.content, own.content) for hit in above)
    more = [hit for hit in above if _part(hit, "covered") > _part(own, "covered") + _CLOSE]
    closer = [hit for hit in above if _part(hit, "cosine") > _part(own, "cosine") + _CLOSE]
    count = f"{_named(len(above), _COUNTS)} {'newer ' if newer else ''}"
    notes = "note" if len(above) == 1 else "notes"
    verb = "say much the same" if alike else "answer better"
    verb = verb.replace("say", "says").replace("answer", "answers") if len(above) == 1 else verb
    if len(more) == len(above):
        verb += " with more of your words"
    elif len(closer) == len(above):
        verb += (
            " and are closer to what you mean" if len(above) > 1 else ", closer to what you mean"
        )
    return f"{count}{notes} {verb}"


def _came_in(memory: Memory, now: datetime) -> str:
    where = f"the project {memory.scope.project}" if memory.scope.project else "every project"
    source = f", in {memory.source.ref}" if memory.source.ref else ""
    return f"{_SOURCES[memory.source.kind]}{source}, {ago(memory.created, now)}, for {where}."


def _part(hit: Hit, name: str) -> float:
    return hit.parts.get(name, 0.0)


def _same(one: str, other: str) -> bool:
    """Whether two texts have most of their words in common."""
    first, second = ({*text.lower().split()} for text in (one, other))
    return len(first & second) > _ALIKE * len(first | second)


def _named(number: int, names: Sequence[str]) -> str:
    """A number in words, as far as there are any: `second` of places, `two` of counts."""
    first = 1 if names is _PLACES else 0
    words = dict(enumerate(names, start=first))
    return words.get(number, f"number {number}" if first else str(number))


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
