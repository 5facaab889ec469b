"""Commands on single memories: get, list, update, pin, delete, history and rate."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, about, adding, argument, one_of
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import (
    InvalidInput,
    Json,
    Memory,
    NotFound,
    Proposal,
    Scope,
    Status,
    shown_type,
    times,
)
from memory_mesh.model.care import Erasure
from memory_mesh.privacy import redacted
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.receipts import redaction

# get


def _run_get(options: argparse.Namespace) -> int:
    """Prints the memory's fields, then its text."""
    with cli_options.opened(options) as (mesh, reader):
        said = cli_options.given(options, MemoryMesh.get)
        memory = mesh.get(options.id, scope=reader, include=_included(options), **said)
        if memory is None:
            _explain_expiry(options.id, mesh.history(options.id, scope=reader))
            raise cli_options.missing(options.id, reader, mesh)
    plain = _of_user(memory, options)
    if options.json:
        output.say_json(plain)
    else:
        _show(plain)
    return 0


def _of_user(memory: Memory, options: argparse.Namespace) -> dict[str, Json]:
    """The fields of a memory, and the user whose it is if one was named."""
    return output.described(memory) | ({} if options.user is None else {"user": options.user})


def _included(options: argparse.Namespace) -> list[Status]:
    shown = {Status.DELETED: options.deleted, Status.EXPIRED: options.expired}
    return [status for status, wanted in shown.items() if wanted]


def _explain_expiry(memory_id: str, versions: Sequence[Memory]) -> None:
    """Raises the error for a memory that is hidden because its session expired."""
    if not versions or versions[-1].status is not Status.ACTIVE:
        return
    if (session := versions[-1].scope.session) is not None:
        raise NotFound(
            f"{memory_id} is hidden: it expired with the session {session}. Show it: "
            f"memory-mesh get --id {memory_id} --session {session} --expired"
        )


def _show(known: dict[str, Json]) -> None:
    content = known.pop("content")
    known["project"] = known["project"] or "every project"
    for line in output.pairs({name: _shown(value) for name, value in known.items()}):
        print(line)
    output.say(f"\n{content}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


GET = Command(
    "memory-mesh get mem_1767225600000_0a1b2c",
    (
        cli_options.add_id,
        adding(cli_options.add_operation, MemoryMesh.get, hidden=("include",)),
        argument("--deleted", action="store_true", help="show it even if it was deleted"),
        argument("--expired", action="store_true", help="show it even if its session expired"),
    ),
    _run_get,
)


# list

_WIDEST_TYPE = 16

_NARROWEST = 20  # columns of a text
_CONFLICTS = 1_000  # open ones that a listing looks at


def _run_list(options: argparse.Namespace) -> int:
    """Prints one line per memory: aligned on a terminal, separated by tabs in a pipe."""
    with cli_options.mesh_of(options) as mesh:
        view = cli_options.view_of(options, mesh, MemoryMesh.get_all)
        page = mesh.get_all(**view)
        conflicts = _open_conflicts(mesh, view["scope"]) if page and not options.json else {}
        if not page and options.cursor is None:
            _tell_unknown(mesh, options)
            output.tell(cli_options.elsewhere(mesh, view))
            if output.at_terminal():
                from memory_mesh.cli.commands.search import reasons  # for nothing else

                output.tell(reasons(mesh, options, view))
    if options.json:
        memories: list[Json] = [_of_user(memory, options) for memory in page]
        output.say_json({"items": memories, "cursor": page.cursor})
        return 0
    if output.on_terminal():
        _align(page, options.user, conflicts)
        if not page and options.cursor is None:
            output.say("Nothing was found.")
    else:
        for memory in page:
            status = [memory.status.value] if options.include else []
            cells = (memory.id, memory.created_at, shown_type(memory), memory.text, *status)
            print("\t".join(safe_text(cell, keep_newlines=False) for cell in cells))
        output.tell(
            f"{memory.id} conflicts with {conflicts[memory.id]}: memory-mesh conflicts"
            for memory in page
            if memory.id in conflicts
        )
    if page.cursor is not None:
        output.hint(f"There are more: repeat the command with --cursor {page.cursor}")
    return 0


def _tell_unknown(mesh: MemoryMesh, options: argparse.Namespace) -> None:
    """Says that a user or a namespace that was named is not there: nothing was ever written."""
    named = options.user or options.namespace
    if named is None or mesh.stats().seq:
        return
    what = "namespace" if options.user is None else "user"
    said = f"there is no {what} {output.named(named)} here. Those there are: memory-mesh namespaces"
    output.tell([said])


def _open_conflicts(mesh: MemoryMesh, reader: Scope) -> dict[str, str]:
    """What contradicts a memory and is not decided yet, by the id of the memory; the newest."""
    found: dict[str, str] = {}
    for each in reversed(mesh.review.conflicts(pending=True, limit=_CONFLICTS, scope=reader)):
        found |= {each.new: each.existing, each.existing: each.new}
    return found


def _align(memories: Sequence[Memory], user: str | None, conflicts: Mapping[str, str]) -> None:
    import shutil

    columns = shutil.get_terminal_size().columns
    types = [output.one_line(shown_type(memory), _WIDEST_TYPE) for memory in memories]
    width = max(map(len, types), default=0)
    for memory, type_ in zip(memories, types, strict=True):
        day = f"{memory.created.astimezone():%Y-%m-%d %H:%M}"
        left = columns - len(memory.id) - len(day) - width - 6
        text = output.one_line(memory.text, max(left, _NARROWEST))
        if left >= _NARROWEST:
            print(f"{output.bold(memory.id)}  {output.dim(day)}  {type_:<{width}}  {text}")
        else:  # a narrow terminal: the text stands below
            print(f"{output.bold(memory.id)}  {output.dim(day[:10])}")
            print(f"  {output.one_line(memory.text, max(columns - 4, _NARROWEST))}")
        where = output.place_of(memory, user)
        if memory.occurred_at is not None:
            where += f" · happened {memory.occurred_at.astimezone():%Y-%m-%d}"
        if memory.id in conflicts:
            where += " · in a conflict: memory-mesh conflicts"
        where = output.one_line(where, max(columns - 5, _NARROWEST))
        print(f"    {output.dim(where)}")


LIST = Command(
    "memory-mesh list --limit 20 --filter \"type = 'preference'\"",
    (adding(cli_options.add_view, MemoryMesh.get_all),),
    _run_list,
)


# update


_PROPOSE = argument(
    "--propose", action="store_true", help="ask a person to decide; change nothing yet"
)


def _run_update(options: argparse.Namespace) -> int:
    """Stores a new version of the memory; fields that are not given stay as they are."""
    content, metadata = cli_options.content_of(options), cli_options.metadata_of(options)
    said = cli_options.details_of(options)
    if content is None and not metadata and not said.keys() - {"reason"}:
        if not options.edit:
            raise UsageError("no change was given; use for example --content, --tag or --edit")
    elif options.edit:
        options.edit = False  # the new text is there
    changed: list[str] = []
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        if options.edit:
            before = _text_of(options.id, mesh, reader)
            content = _edited(before)
            if content == before:
                raise InvalidInput(f"nothing was changed: the text of {options.id} is as it was")
            changed = _changes(before, content)
        merge = options.metadata is None  # --meta changes single fields, --metadata replaces all
        change = (options.id, content, metadata)
        if options.propose:
            asked = mesh.review.propose_update(*change, merge=merge, reader=reader, **said)
            return output.proposed(asked, as_json=options.json)
        memory = mesh.update(*change, merge=merge, reader=reader, **said)
        plain = output.described(memory)
        if memory.status is Status.SUPERSEDED:
            plain |= _superseded(memory, mesh.view(scope=reader))
    replaced = redacted(repr((content, metadata, said)), repr(output.described(memory)))
    if replaced and not options.json:
        output.tell([redaction(replaced)])
    done = f"[MemoryMesh] Updated record {memory.id}"
    return output.answer(plain, done, *changed, as_json=options.json)


def _text_of(memory_id: str, mesh: MemoryMesh, reader: Scope) -> str:
    found = mesh.get(memory_id, scope=reader)
    if found is None:
        raise NotFound.of(memory_id)
    return found.text


def _edited(text: str) -> str:
    """The text as it is when the user's editor ends."""
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:  # only its owner may look into it
        file = Path(folder, "memory.md")
        file.write_text(text + "\n", encoding="utf-8")
        try:
            code = subprocess.call([*shlex.split(editor), str(file)])  # noqa: S603  # the user's own
        except OSError:
            raise InvalidInput(f"{editor} cannot be run; say which editor: EDITOR=nano") from None
        if code:
            raise InvalidInput(f"nothing was changed: {editor} ended with the exit code {code}")
        return file.read_text(encoding="utf-8").removesuffix("\n")


def _changes(before: str, after: str) -> list[str]:
    """The lines that went and those that came."""
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [f"  {line}" for line in [*lines][2:] if not line.startswith("@@")]


def _superseded(memory: Memory, mesh: MemoryMesh) -> dict[str, Json]:
    """Says that a search goes on finding another memory in its place, and which if it is seen."""
    from memory_mesh.cli.missing_id import successor

    later = successor(memory.id, mesh)
    by = "another memory" if later is None else later
    change = "" if later is None else f"; to change what it finds: memory-mesh update {later}"
    output.tell([f"{memory.id} is superseded by {by}: a search finds that one, not this{change}"])
    return {} if later is None else {"superseded_by": later}


UPDATE = Command(
    'memory-mesh update mem_1767225600000_0a1b2c "Light themes, since May"',
    (
        cli_options.add_id,
        adding(cli_options.add_text, "the new text"),
        cli_options.add_metadata,
        adding(cli_options.add_operation, MemoryMesh.update),
        _PROPOSE,
        argument(
            "--edit", action="store_true", help="open the text in $EDITOR; `edit ID` does the same"
        ),
    ),
    _run_update,
)


# pin


def _run_pin(options: argparse.Namespace) -> int:
    """Pins or unpins the memory."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.pin(options.id, pinned=not options.unpin, scope=reader)
    done = f"[MemoryMesh] {'Pinned' if memory.pinned else 'Unpinned'} record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)


PIN = Command(
    "memory-mesh memory pin mem_1767225600000_0a1b2c",
    (cli_options.add_id, argument("--unpin", action="store_true", help="remove the mark")),
    _run_pin,
)


# delete

_IN_AN_AGENTS_SHELL = """\
In an agent's shell, what the user stored is not deleted: the delete is proposed,
and the memory stays until a person decides (memory-mesh review --id ID --approve).
If you type there yourself, take the agent's variable away, for example:
  env -u CLAUDECODE memory-mesh delete --id ID"""


def _run_delete(options: argparse.Namespace) -> int:
    """Hides the memory; it can be restored for 30 days.

    In an agent's shell the delete of what the user stored is a proposal.
    """
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        asked: Proposal | None
        said = cli_options.given(options, MemoryMesh.delete)
        if options.propose:
            asked = mesh.review.propose_delete(options.id, reader=reader, **said)
        else:
            asked = mesh.delete(options.id, scope=reader, **said)
    if asked is not None:
        if not options.propose and asked.pending:
            output.tell(_stays(asked))
        return output.proposed(asked, as_json=options.json)
    output.hint(f"To undo this within 30 days: memory-mesh restore {options.id}")
    done = f"[MemoryMesh] Deleted record {options.id}"
    return output.answer({"deleted": options.id}, done, as_json=options.json)


def _stays(asked: Proposal) -> list[str]:
    """Says that nothing is deleted yet, who decides and how."""
    own = cli_options.without_agent().replace("COMMAND", f"delete --id {asked.memory}")
    decide = f"memory-mesh review --id {asked.id} --approve"
    stays = "a more trusted source stored it, so it stays until a person decides"
    told = [f"{asked.memory} is not deleted: {stays}, by: {decide}, or --reject"]
    if own:
        told.append(f"an agent started this shell; if you are the user, run: {own}")
    return told


DELETE = Command(
    "memory-mesh delete mem_1767225600000_0a1b2c",
    (
        about(_IN_AN_AGENTS_SHELL),
        cli_options.add_id,
        _PROPOSE,
        adding(cli_options.add_operation, MemoryMesh.delete),
    ),
    _run_delete,
)


# erase

_FOR_GOOD = """\
Without --yes it shows what would go and changes nothing. Erased memories are hidden
at once and cannot be restored; the words are not stored again until --unforget.
`done` is said when a search through every byte of the store found none of them. While
a program reads an earlier moment of the store it is `hidden`: `memory-mesh upkeep`, or
the same command, goes on with it."""


def _run_erase(options: argparse.Namespace) -> int:
    """Erases memories for good, or says what would go."""
    if options.unforget is not None:
        return _unforget(options)
    said = cli_options.given(options, MemoryMesh.erase)
    with cli_options.opened(options) as (mesh, reader):
        if not options.ids and not {"source", "subject"} & said.keys():
            if options.user is None:
                raise UsageError("say what to erase: an ID, --source, --subject or --user")
            said["user"] = options.user
        erase = partial(mesh.erase, options.ids or None, scope=reader, dry_run=not options.yes)
        try:
            done = erase(**said)
        except NotFound:
            if (name := _name_of_place(options.source)) is None:
                raise
            done = erase(**{**said, "source": name})
    names = "id state namespace memories same derived skills counts searched waits left block_id"
    return output.answer(output.plain(done, names), *_erased(done), as_json=options.json)


def _unforget(options: argparse.Namespace) -> int:
    """Lets words be stored again, or all that was erased of a source."""
    if bool(options.unforget) == (options.source is not None):
        raise UsageError("give --unforget TEXT, or --source NAME --unforget for all of it")
    what, nothing = "These words", "These words were not kept out."
    with cli_options.mesh_of(options) as mesh:
        if options.unforget:
            let_in = mesh.unforget(options.unforget)
        else:
            try:
                let_in = mesh.unforget(source=options.source)
            except NotFound:
                if (name := _name_of_place(options.source)) is None:
                    raise
                let_in = mesh.unforget(source=name)
            what = f"All that was erased of {output.named(options.source)}"
            nothing = f"{what} was let in before. For other words give --unforget TEXT."
    told = f"{what} may be stored again." if let_in else nothing
    return output.answer({"unforgotten": let_in}, f"[MemoryMesh] {told}", as_json=options.json)


def _name_of_place(source: str | None) -> str | None:
    """The name under which an import keeps a file or folder that is given by its path."""
    place = Path(source or "").expanduser()
    name = place.resolve().name
    return name if source and name != source and place.exists() else None


def _erased(done: "Erasure") -> list[str]:
    """What went or would go, what it waits for, and what is out of reach."""
    parts = {"asked for": done.memories, "with the same words": done.same}
    parts |= {"made of them": done.derived, "skills made of them": done.skills}
    rows = [output.counted(many, table) for table, many in done.counts.items() if many]
    planned = done.state == "planned"
    many = output.counted(len(done.ids) or done.counts.get("memory", 0), "memory")
    return [
        f"[MemoryMesh] {'Would erase' if planned else 'Erased'} {many} in {done.namespace}",
        *(f"  {what}: {output.some(ids)}" for what, ids in parts.items() if ids),
        *([f"  rows: {', '.join(rows)}"] if rows else []),
        *(
            [f"  {done.searched:,} bytes hold none of it but what others say"]
            if done.searched
            else []
        ),
        *(f"  hidden, not done: {why}" for why in done.waits),
        *(f"  out of reach: {left}" for left in done.left),
        *(["Nothing was changed: add --yes to erase"] if planned else []),
    ]


ERASE = Command(
    "memory-mesh erase mem_1767225600000_0a1b2c --yes",
    (
        about(_FOR_GOOD),
        argument("ids", nargs="*", metavar="ID", help="the memories to erase"),
        adding(
            cli_options.add_operation,
            MemoryMesh.erase,
            hidden=("memory_id", "user", "scope", "dry_run"),
        ),
        argument("--yes", action="store_true", help="erase; without it only say what would go"),
        argument(
            "--unforget",
            nargs="?",
            const="",
            metavar="TEXT",
            help="let erased words be stored again; with --source all that was erased of it",
        ),
    ),
    _run_erase,
)


# history


def _run_history(options: argparse.Namespace) -> int:
    """Prints every recorded version, oldest first."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        chain = mesh.review.chain(options.id, scope=reader)
        ids = [memory.id for memory in chain] if options.chain else [options.id]
        versions = [version for id_ in ids for version in mesh.history(id_, scope=reader)]
        if not versions:
            raise cli_options.missing(options.id, reader, mesh)
    return output.answer(
        [
            (
                output.described(version)
                | {
                    "recorded_from": times.iso(version.recorded_from),
                    "recorded_until": None
                    if version.recorded_until is None
                    else times.iso(version.recorded_until),
                    "successor": version.successor,
                }
            )
            for version in versions
        ],
        *map(_line, versions),
        *(
            f"It replaced {memory.id}: {output.one_line(memory.text, 80)}"
            for memory in chain
            if memory.successor == options.id and not options.chain
        ),
        as_json=options.json,
    )


def _line(version: Memory) -> str:
    until = "now" if version.recorded_until is None else times.iso(version.recorded_until)
    follows = f" -> {version.successor}" if version.successor else ""
    head = f"{times.iso(version.recorded_from)} .. {until}  {version.id}  {version.status}{follows}"
    return f"{head}\n  {output.one_line(version.text, 100)}"


HISTORY = Command(
    "memory-mesh memory history mem_1767225600000_0a1b2c",
    (
        cli_options.add_id,
        argument(
            "--chain",
            action="store_true",
            help="also show the memories it replaced and those that replaced it",
        ),
    ),
    _run_history,
)


# rate


def _run_rate(options: argparse.Namespace) -> int:
    """Counts one vote; it changes the rank of the memory and nothing else."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.rate(options.id, helpful=options.helpful, scope=reader)
    return output.answer(
        {
            "id": memory.id,
            "helpful": memory.helpful,
            "harmful": memory.harmful,
            "usefulness": memory.usefulness,
        },
        f"[MemoryMesh] Rated record {memory.id}: {memory.helpful} found it helpful, "
        f"{memory.harmful} did not",
        as_json=options.json,
    )


RATE = Command(
    "memory-mesh memory rate mem_1767225600000_0a1b2c --helpful",
    (
        cli_options.add_id,
        one_of(
            argument("--helpful", action="store_true", help="it helped: rank it higher"),
            argument("--not-helpful", action="store_true", help="it did not: rank it lower"),
            required=True,
        ),
    ),
    _run_rate,
)
