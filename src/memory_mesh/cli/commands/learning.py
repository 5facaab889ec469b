"""Commands that learn: reflect, distill, extract, lessons and synthesize."""

import argparse
import json
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.model import InvalidInput, Scope, Status
from memory_mesh.model.learning import Distillation
from memory_mesh.sync import MemoryMesh

# reflect


def _run_reflect(options: argparse.Namespace) -> int:
    """Prints what the memories agree on, with their ids."""
    with cli_options.mesh_of(options, meaning=bool(options.topic)) as mesh:
        said = cli_options.given(options, MemoryMesh.lessons.reflect)
        reader = cli_options.reader_of(mesh)
        found = mesh.lessons.reflect(store=not options.dry_run, scope=reader, **said)
    lines = [f"[MemoryMesh] Reflected on {output.counted(found.count, 'memory')}."]
    if found.text:
        lines.append(found.text)
    elif found.count:
        lines.append("No two of them say the same, so nothing was stored.")
    if found.id:
        lines.append(f"[MemoryMesh] Reflection {found.id} [CONFIDENCE: {found.confidence:.2f}]")
    return output.answer(
        output.plain(found, "id topic count text confidence sources"),
        *lines,
        as_json=options.json,
    )


REFLECT = Command(
    'memory-mesh lesson reflect --topic "deployments" --lookback 20',
    (
        adding(cli_options.add_operation, MemoryMesh.lessons.reflect, hidden=("store",)),
        argument("--dry-run", action="store_true", help="print the reflection without storing it"),
    ),
    _run_reflect,
)


# distill


def _run_distill(options: argparse.Namespace) -> int:
    """Turns recent failures into lessons; can be interrupted and run again."""
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        if options.if_due and not mesh.lessons.due():
            if not options.json:
                output.hint("Distillation is not due yet.")
                return 0
            done = Distillation(0)
        else:
            done = mesh.lessons.distill(scope=reader)
    waiting = sum(1 for block in done.learned if block.status != "active")
    return output.answer(
        {
            "scanned": done.scanned,
            "learned": [block.lesson_id for block in done.learned],
            "known": [block.lesson_id for block in done.known],
            "unclear": list(done.unclear),
            "constraints": list(done.constraints),
        },
        f"[MemoryMesh] Distilled {output.counted(len(done.learned), 'lesson')} from "
        f"{output.counted(done.scanned, 'failure')}, "
        f"{len(done.known)} known, {len(done.unclear)} without a rule.",
        *(
            f"{block.severity}: {output.unbroken(block.preventative_rule)} ({block.lesson_id})"
            for block in done.learned
        ),
        as_json=options.json,
        remark=f"{waiting} of them wait for review: memory-mesh review" if waiting else "",
    )


DISTILL = Command(
    "memory-mesh lesson distill",
    (
        argument(
            "--if-due",
            action="store_true",
            help="run only if the last run was more than six hours ago",
        ),
    ),
    _run_distill,
)


# extract


def _run_extract(options: argparse.Namespace) -> int:
    """Stores the facts of a conversation; without a file it tries again what waits."""
    messages = [] if options.file is None else _messages(options.file)
    if messages and options.ref is None and options.file != "-":
        options.ref = options.file
    with cli_options.opened(options) as (mesh, _):
        said = cli_options.given(options, MemoryMesh.learn.extract)
        if options.rules:
            said["use_model"] = False
        found = mesh.learn.extract(messages, store=not options.dry_run, **said)
    ids = [receipt.id for receipt in found.receipts if receipt.id is not None]
    stored = "" if options.dry_run else f", stored {len(ids)}"
    done = (
        f"Found {output.counted(len(found.facts), 'fact')}{stored}, left out {len(found.dropped)}"
        if options.discard is None
        else f"Discarded {output.counted(len(found.dropped), 'message')} of {options.discard}"
    )
    if not options.json:
        waiting = f"waiting for the language model: {output.counted(found.waiting, 'message')}"
        again = f"{found.failure}; {waiting}; to try again: memory-mesh lesson extract"
        output.tell([f"left out: {output.unbroken(text)} ({why})" for text, why in found.dropped])
        output.tell([again] if found.failure else [])
    output.answer(
        {
            "ids": ids,
            **output.plain(found, "facts dropped by_llm failure waiting batches tokens_today"),
        },
        f"[MemoryMesh] {done}.",
        *(f"- {output.unbroken(fact.text)} ({fact.reason})" for fact in found.facts),
        *(f"waits: {name} ({output.unbroken(about)})" for name, about in found.batches),
        as_json=options.json,
    )
    return 1 if found.failure else 0


def _messages(file: str) -> list[dict[str, object]] | str:
    """A conversation: a JSON list of messages, one message in each line, or a plain text."""
    try:
        text = cli_options.standard_input() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from None
    found: list[Any] = []
    try:
        found = [json.loads(text)]
    except ValueError:
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                found += [json.loads(line)] if line.strip() else []
            except ValueError as error:
                if not (file.endswith((".json", ".jsonl")) or isinstance((found or [0])[0], dict)):
                    return text
                raise InvalidInput(f"line {number} of {file} is no JSON: {error}") from None
    return found[0] if found and isinstance(found[0], list) else found


EXTRACT = Command(
    "memory-mesh lesson extract conversation.jsonl",
    (
        argument(
            "file",
            nargs="?",
            help="the conversation: JSON messages with role and content, or a text of the user; "
            "- reads standard input; without it only what waits is tried again",
        ),
        adding(
            cli_options.add_operation,
            MemoryMesh.learn.extract,
            {"roles": {"flag": "--role", "action": "append", "choices": ["user", "assistant"]}},
            hidden=("store", "use_model"),
        ),
        argument("--rules", action="store_true", help="ask no language model"),
        argument("--dry-run", action="store_true", help="print the facts without storing them"),
    ),
    _run_extract,
)


# lessons

_LESSON = (  # the fields of a rule, as JSON has them
    "lesson_id memory_id pattern_id severity preventative_rule rule_confidence applicable_scope "
    "wire_format"
)


def _run_lessons(options: argparse.Namespace) -> int:
    """Prints the rules for a task, or all rules by severity if no task is given."""
    if options.add:
        return _add_lesson(options)
    order = None if options.query.strip() else "severity DESC"
    with cli_options.mesh_of(options, meaning=bool(options.query.strip())) as mesh:
        said = cli_options.given(options, MemoryMesh.lessons.search)
        reader = cli_options.reader_of(mesh)
        found = mesh.lessons.search(options.query, order_by=order, scope=reader, **said)
    lines = [f"[MemoryMesh] {output.counted(len(found), 'lesson')}."]
    for block in found:
        rule, place = map(output.unbroken, (block.preventative_rule, block.applicable_scope))
        lines.append(f"{block.severity}: {rule}\n  applies to {place} ({block.memory_id})")
    return output.answer(
        [output.plain(block, _LESSON) for block in found],
        *lines,
        as_json=options.json,
    )


def _add_lesson(options: argparse.Namespace) -> int:
    """Stores a rule in the user's words."""
    if not options.query.strip():
        raise UsageError(
            'type the rule: memory-mesh lesson add "Use pnpm here" --when "installing"'
        )
    with cli_options.opened(options) as (mesh, reader):
        scope = Scope(reader.project)
        made = mesh.lessons.record(
            options.query, when=options.when, enforce=options.enforce, scope=scope
        )
    done = "Stored" if made.is_new else "Already stored"
    waits = made.status is not Status.ACTIVE
    return output.answer(
        output.plain(made, _LESSON),
        f"[MemoryMesh] {done} as the lesson {made.memory_id}",
        as_json=options.json,
        remark="It waits for review: memory-mesh review" if waits else "",
    )


LESSONS = Command(
    'memory-mesh lesson list "talk to the payment service"',
    (
        argument("query", nargs="?", default="", help="the task ahead; with --add the rule"),
        argument("--add", action="store_true", help="store a rule; `lesson add` does the same"),
        argument("--when", metavar="SITUATION", help="with --add: when the rule applies"),
        argument(
            "--enforce",
            action="store_true",
            help="with --add: let hooks refuse what the rule warns of, instead of saying so once",
        ),
        adding(cli_options.add_operation, MemoryMesh.lessons.search, hidden=("order_by",)),
    ),
    _run_lessons,
)


# synthesize


def _run_synthesize(options: argparse.Namespace) -> int:
    """Stages a skill from recurring steps; it becomes active when somebody approves it."""
    with cli_options.mesh_of(options, meaning=bool(options.topic)) as mesh:
        said = cli_options.given(options, MemoryMesh.skills.synthesize)
        made = mesh.skills.synthesize(scope=cli_options.reader_of(mesh), **said)
    lines, use = [f"[MemoryMesh] {made.analysis}"], ""
    if made.skill_id:
        staged = f"[MemoryMesh] Staged skill {made.skill_name} ({made.skill_id})"
        lines += [staged, made.yamo_text or ""]
        use = f"To use it: memory-mesh review --id {made.skill_id} --approve"
    return output.answer(
        output.plain(made, "status analysis skill_id skill_name yamo_text sources"),
        *lines,
        as_json=options.json,
        remark=use,
    )


SYNTHESIZE = Command(
    'memory-mesh skill synthesize --topic "release process"',
    (adding(cli_options.add_operation, MemoryMesh.skills.synthesize),),
    _run_synthesize,
)
