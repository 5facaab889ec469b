"""Commands that store a memory: store and evolve."""

import argparse
from pathlib import Path

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.model import InvalidInput, Outcome, Receipt, Scope, SourceKind, record
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.speakers import kind_said

# store

_USER = SourceKind.USER_EXPLICIT

_id = lazy_pattern(r"mem_\d{13}\w*")
_NO_RULE = (
    "it is found like any memory; one that comes first in a context, and in lessons: "
    "memory-mesh lesson add TEXT"
)
_NAME_CHARS = 200  # of what may be the name of a file


FOR_ALL = argument(
    "--global",
    action="store_true",
    dest="for_all",
    help="store for every project, not only this one",
)
_TAKES = (
    adding(cli_options.add_text, "the memory"),
    cli_options.add_metadata,
    adding(cli_options.add_operation, MemoryMesh.add),
    FOR_ALL,
)


def _run_store(options: argparse.Namespace, *, evolve: bool = False) -> int:
    """Stores the memory and prints its id."""
    if evolve:
        _refuse_id(options.text)
    content = _content(options, "evolve" if evolve else "store")
    said, metadata = cli_options.details_of(options), cli_options.metadata_of(options) or {}
    with cli_options.opened(options) as (mesh, reader):
        folder = mesh.config.db_dir if mesh.config.store is None else None
        new = None if folder is None or (folder / "namespaces").exists() else folder
        said["scope"] = Scope(None if options.for_all else reader.project, None, reader.session)
        if "agent_id" in mesh.config.origins and "source" not in metadata:
            metadata["source"] = mesh.config.agent_id  # a setting: it does not say who speaks
            said["source_kind"] = kind_said(options.role, options.speaker) or _USER
        receipt = (mesh.evolve if evolve else mesh.add)(content, metadata, **said)
    if receipt.outcome is Outcome.REFUSED:
        if output.on_terminal():
            output.tell([f"the refusal is on record, see: memory-mesh explain {receipt.block_id}"])
        raise InvalidInput("; ".join(receipt.reasons))
    if not options.json:
        own = cli_options.without_agent()
        plain = metadata.get("type") == "lesson" and receipt.outcome is Outcome.STORED
        lesson = [_NO_RULE] if plain else []
        told = [f"stored as an agent's (inference); if you are the user, run: {own}"] if own else []
        output.tell([*(reason for reason in receipt.reasons if reason != "stored"), *lesson, *told])
    output.answer(record.record(receipt), _headline(receipt, said["scope"]), as_json=options.json)
    _hints(options, receipt, new)
    return 0


def _hints(options: argparse.Namespace, receipt: Receipt, new: Path | None) -> None:
    """What a person may not have meant: a new store, or the name of a file as the text."""
    if not output.at_terminal():
        return
    if new is not None:
        output.hint(f"This is a new store: {output.named(new.absolute())}")
    name = " ".join(options.text)
    if len(name) <= _NAME_CHARS and "\n" not in name and Path(name).is_file():
        import shlex

        file = shlex.quote(output.named(name))
        output.hint(
            f"{file} is a file here, and only its name was stored. To store its text: "
            f"memory-mesh store < {file}; to take this back: memory-mesh delete {receipt.id}"
        )


def _refuse_id(words: list[str]) -> None:
    """Refuses the id of a memory in front of the text: it would be stored as a word of it."""
    if words and _id().fullmatch(words[0]):
        import shlex

        text = shlex.quote(" ".join(words[1:])) if words[1:] else '"the new text"'
        raise InvalidInput(
            "evolve takes a text and looks for the older memory itself. To replace the text of "
            f"this one: memory-mesh update {words[0]} {text}"
        )


def _content(options: argparse.Namespace, command: str) -> str:
    """Returns the text: as it was given, or what is piped in."""
    given = cli_options.content_of(options)
    if given is None and cli_options.piped():
        given = cli_options.standard_input() or None
    if given is None:
        raise UsageError(f'give the text of the memory: memory-mesh {command} "…"')
    if not given.strip():
        raise InvalidInput(f"the text is empty. Give the words to remember: {STORE.example}")
    return given


def _headline(receipt: Receipt, scope: Scope) -> str:
    """RFC-0011's line, which programs read; on a terminal, what became of the text."""
    if not output.on_terminal():
        return f"[MemoryMesh] Ingested record {receipt.id}"
    if receipt.outcome is Outcome.STORED:
        seen = ", for this project only" if scope.project else ""
        return f"[MemoryMesh] Stored as {receipt.id}{seen}"
    done = "Waits for review as" if receipt.outcome is Outcome.QUARANTINED else "Already stored as"
    return f"[MemoryMesh] {done} {receipt.id}"


STORE = Command(
    'memory-mesh store "The user prefers dark themes" --type preference',
    _TAKES,
    _run_store,
)


# evolve


# What the newer statement contradicts by rule is superseded, what is only similar is linked.
EVOLVE = Command(
    'memory-mesh memory evolve "The office is in Berlin now"',
    _TAKES,
    lambda options: _run_store(options, evolve=True),
)
