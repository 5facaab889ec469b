"""Commands that copy stores: backup, restore, export, import and move."""

import argparse
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.care import other_tools
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.cli.output import completed, option
from memory_mesh.cli.progress import Counting, Telling
from memory_mesh.formats import exchange
from memory_mesh.model import InvalidInput, Json, MeshError, NotAllowed
from memory_mesh.model.care import Backup, Exported, Imported, NamespaceCopy, Restored
from memory_mesh.platform.agent_shell import agent_variables
from memory_mesh.platform.store_urls import need_folder, refuse_service
from memory_mesh.rules.arguments import check_plain_namespace, shown_namespace, user_of
from memory_mesh.rules.trust import AUDIENCE

# backup


def _keep(text: str) -> int:
    number = int(text)  # argparse says what is wrong with another text
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {number}")
    return number


def _run_backup(options: argparse.Namespace) -> int:
    """Backs up every namespace; the exit code is 1 if one is missing or damaged in the backup."""
    from memory_mesh.care.backups import backup

    store_folder.refuse_one(options, "leave it out, or export the part: memory-mesh export")
    done = backup(
        store_folder.folder_of(
            options, "back it up with pg_dump, or a namespace of it with memory-mesh export"
        ),
        Path(options.to).expanduser(),
        keep=options.keep,
        tell=Telling(),
    )
    lines = [completed(line, options) for line in _backup_lines(done)]
    output.answer(
        {
            "folder": output.named(done.folder),
            "store": done.store,
            "made": done.made,
            "bytes": done.bytes,
            "ok": done.ok,
            "namespaces": [backup_described(kept) for kept in done.namespaces],
            "missing": [
                {"namespace": shown_namespace(name), "why": why} for name, why in done.missing
            ],
            "removed": list(done.removed),
            "swept": list(done.swept),
        },
        *lines,
        as_json=options.json,
    )
    if done.ok:
        return 0
    wrong = len(done.missing) + sum(bool(kept.findings) for kept in done.namespaces)
    what = "1 namespace is" if wrong == 1 else f"{wrong} namespaces are"
    raise MeshError(
        f"{what} damaged, and missing or damaged in this backup; older backups were left alone. "
        "Look at them: memory-mesh verify --all; then memory-mesh repair, or restore an older "
        "backup"
    )


def backup_described(kept: NamespaceCopy) -> dict[str, Json]:
    """Returns a namespace of a backup as JSON values."""
    return {
        "namespace": shown_namespace(kept.namespace),
        "schema": kept.schema,
        "seq": kept.seq,
        "position": kept.position,
        "hash": kept.hash,
        "findings": list(kept.findings),
    }


def _backup_lines(done: Backup) -> list[str]:
    what = f"{output.counted(len(done.namespaces), 'namespace')}, {done.bytes} bytes,"
    lines = [f"[MemoryMesh] Backed up {what} to {output.named(done.folder)}."]
    for kept in done.namespaces:
        if kept.findings:
            name = shown_namespace(kept.namespace)
            lines.append(f"[MemoryMesh] {name} is damaged: {kept.findings[0]}")
    lines += [
        f"[MemoryMesh] {shown_namespace(name)} could not be copied: {why}"
        for name, why in done.missing
    ]
    if done.removed:
        lines.append(
            f"[MemoryMesh] Removed {len(done.removed)} older: {output.some(done.removed)}."
        )
    if done.swept:
        lines.append(f"[MemoryMesh] Removed what a killed backup left: {output.some(done.swept)}.")
    return lines


BACKUP = Command(
    "memory-mesh care backup /backups/memory --keep 14",
    (
        adding(
            cli_options.add_place,
            "--to",
            "FOLDER",
            "to",
            "where backups lie, each in a folder named by its time",
        ),
        argument(
            "--keep",
            metavar="N",
            type=_keep,
            help="remove older backups of this store, but not the newest N that are sound",
        ),
    ),
    _run_backup,
)


# restore


def _run_restore(options: argparse.Namespace) -> int:
    """Restores the memory as it was, or a whole store."""
    if options.named is not None and options.id is None:
        options.id, options.named = options.named, None
    if options.named is not None or (options.id is None) == (options.source is None):
        raise UsageError(
            "give either the ID of a deleted memory, or --from a backup. "
            "See: memory-mesh memory restore --help"
        )
    if options.source is not None:
        return _whole(options)
    if options.to is not None or options.replace:
        raise UsageError(
            "--to and --replace belong to --from. See: memory-mesh memory restore --help"
        )
    if Path(options.id).expanduser().exists():
        command = f"memory-mesh restore --from {output.named(options.id)}"
        raise UsageError(f"a backup is restored with --from: {command}")
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        memory = mesh.restore(options.id, scope=reader)
    done = f"[MemoryMesh] Restored record {memory.id}"
    return output.answer(output.described(memory), done, as_json=options.json)


def _whole(options: argparse.Namespace) -> int:
    from memory_mesh.care.restores import restore

    store_folder.refuse_one(
        options, "to restore one, give its file: --from BACKUP/namespaces/NAME.db --to FOLDER"
    )
    config = store_folder.config_of(options)
    if options.to is None:
        store_folder.need_folder(
            config, "bring a namespace in with memory-mesh import, or restore with pg_restore"
        )
    source = Path(options.source).expanduser()
    if options.to is None and source.is_file():
        raise UsageError("a single file is restored into a new folder: give --to FOLDER")
    if options.replace and agent_variables(os.environ):
        raise NotAllowed("only the user can replace a store")
    done = restore(
        source,
        config.db_dir if options.to is None else Path(options.to).expanduser(),
        replace=options.replace,
        known=config.db_dir,
        allow_network=config.allow_network_folder,
        tell=Telling(),
    )
    output.answer(
        {
            "folder": output.named(done.folder),
            "source": output.named(done.source),
            "ok": done.ok,
            "namespaces": [backup_described(kept) for kept in done.namespaces],
            "erased": [shown_namespace(name) for name in done.erased],
            "memories_erased": done.memories_erased,
            "missing": [shown_namespace(name) for name in done.missing],
            "left_behind": [shown_namespace(name) for name in done.left_behind],
            "before": None if done.before is None else output.named(done.before),
            "swept": list(done.swept),
        },
        *_restore_lines(done),
        as_json=options.json,
    )
    if not done.ok:
        raise MeshError(
            "the store was restored, and lacks what was lost before the backup was made. If an "
            "older backup has it, restore that one beside it: memory-mesh restore --from BACKUP "
            "--to FOLDER"
        )
    return 0


def _restore_lines(done: Restored) -> list[str]:
    count = len(done.namespaces)
    done_so = f"Restored {output.counted(count, 'namespace')} to {output.named(done.folder)}"
    verified = {0: "", 1: " It was verified."}.get(count, " All of them were verified.")
    lines = [f"[MemoryMesh] {done_so}.{verified}"]
    if done.before is not None:
        lines.append(
            f"[MemoryMesh] The store that was there is in {output.named(done.before)}; "
            "delete it when you do not need it any more."
        )
    if done.left_behind:
        names = output.some([*map(shown_namespace, done.left_behind)])
        lines.append(f"[MemoryMesh] Only in that store, and not in the backup: {names}.")
    for kept in done.namespaces:
        lines += [
            f"[MemoryMesh] {output.named(shown_namespace(kept.namespace))}, when the backup was "
            f"made: {output.unbroken(finding)}"
            for finding in kept.findings
        ]
    if done.erased:
        names = output.some([*map(shown_namespace, done.erased)])
        lines.append(f"[MemoryMesh] Left out, because they were deleted since: {names}.")
    if done.memories_erased:
        erased = output.counted(done.memories_erased, "memory")
        lines.append(f"[MemoryMesh] Left out, because they were erased since: {erased}.")
    if done.missing:
        names = output.some([*map(shown_namespace, done.missing)])
        lines.append(f"[MemoryMesh] Not in the backup, because they were damaged: {names}.")
    if done.swept:
        lines.append(f"[MemoryMesh] Removed what a killed restore left: {output.some(done.swept)}.")
    return lines


RESTORE = Command(
    (
        "memory-mesh memory restore mem_1767225600000_0a1b2c\n"
        "  memory-mesh memory restore --from /backups/memory/20261116T203000Z --to ./restored"
    ),
    (
        cli_options.add_any_id,
        argument(
            "--from",
            metavar="BACKUP",
            dest="source",
            help="restore this backup, or the .db or .bak file of one namespace",
        ),
        argument("--to", metavar="FOLDER", help="into this folder; default: the store's own"),
        argument("--replace", action="store_true", help="put the store that is there aside"),
    ),
    _run_restore,
)


# export

_ARCHIVES = ("", ".gz", ".tgz", ".tar", ".mesh")
_LANE = ".db"  # Memory Lane's SQLite file
_COUNTED = 100  # namespaces whose memories are counted
_NO_VECTORS = (
    "the namespace has no vectors yet, so the archive carries none. With a model, memory-mesh "
    "upkeep makes them; then export again"
)


def _run_export(options: argparse.Namespace) -> int:
    """Writes every row of the namespace and its audit chain to one file."""
    if options.to == "-":
        raise UsageError(
            "an archive is a file of its own, and is not written to standard output: give --to FILE"
        )
    ending = Path(options.to).suffix.lower()
    if ending in {*exchange.WRITERS, _LANE}:
        return _export_rows(options)
    if ending not in _ARCHIVES:
        known = ", ".join(exchange.WRITERS)
        raise UsageError(f"an archive ends in .tar.gz, a file of rows in {known}; not in {ending}")
    done = _exported(options)
    output.tell(_left_here(options))
    name = shown_namespace(done.namespace)
    vectors = f"{output.counted(done.vectors, 'vector')}, " if done.with_vectors else ""
    if options.with_vectors and not done.vectors:
        output.tell([_NO_VECTORS])
    return output.answer(
        {
            "file": output.named(done.file),
            "namespace": name,
            "memories": done.memories,
            "position": done.position,
            "rows": done.rows,
            "bytes": done.bytes,
            "sha256": done.sha256,
            "with_vectors": done.with_vectors,
            "vectors": done.vectors,
        },
        f"[MemoryMesh] Exported {output.counted(done.memories, 'memory')} of {name}, "
        f"{output.counted(done.position, 'block')}, {vectors}to {output.named(done.file)} "
        f"({done.bytes} bytes).",
        as_json=options.json,
        remark="It holds every text of the namespace: keep it as private as the store.",
    )


def _export_rows(options: argparse.Namespace) -> int:
    """Writes the texts of the namespace to a file that other programs read."""
    to, counting = Path(options.to).expanduser(), Counting("memories")
    with cli_options.mesh_of(options) as mesh:
        if to.suffix.lower() == _LANE:
            from memory_mesh.compat.lane.import_ import bring_out_lane

            done = bring_out_lane(mesh, to)
        else:
            done = mesh.export(to, across=AUDIENCE, progress=counting)
    counting.end()
    output.tell(_left_here(options))
    return output.answer(
        {"file": output.named(to), "memories": done},
        f"[MemoryMesh] Exported {output.counted(done, 'memory')} to {output.named(to)}.",
        as_json=options.json,
        remark="Versions, votes and the audit chain stay here; an archive (.tar.gz) carries them.",
    )


def _left_here(options: argparse.Namespace) -> list[str]:
    """How many memories the other namespaces have, for somebody who named none."""
    if options.user is not None or options.namespace is not None:
        return []
    others: dict[str, int] = {}
    with suppress(NotAllowed), cli_options.mesh_of(options) as mesh:  # a key may not list them
        own = shown_namespace(mesh.config.namespace)
        for name, view in islice(store_folder.views(mesh), _COUNTED):
            with suppress(MeshError):  # a damaged one says so itself
                others[name] = 0 if name == own else view.stats().memories
    names = [output.unbroken(name) for name, count in others.items() if count]
    if not names:
        return []
    memories = output.counted(sum(others.values()), "memory")
    return [
        (
            f"not exported: {memories} of other namespaces ({output.some(names)}); name a user "
            "with --user, one of the others with --namespace; a backup holds all"
        )
    ]


def _exported(options: argparse.Namespace) -> Exported:
    config, to = store_folder.config_of(options), Path(options.to).expanduser()
    counting = Counting("rows")
    refuse_service(config.store)
    if config.store is not None:
        from memory_mesh.care.server import export_from_server

        done = export_from_server(config, to, with_vectors=options.with_vectors, progress=counting)
    else:
        from memory_mesh.care import export_archive

        done = export_archive(
            config.db_dir,
            config.namespace,
            to,
            with_vectors=options.with_vectors,
            progress=counting,
        )
    counting.end()
    return done


EXPORT = Command(
    "memory-mesh export memories.tar.gz",
    (
        adding(
            cli_options.add_place,
            "--to",
            "FILE",
            "to",
            "the new archive; or .jsonl, .csv, .md, or .db for Memory Lane",
        ),
        argument(
            "--with-vectors",
            action="store_true",
            help="carry the vectors, too; without them they are made anew where it is imported",
        ),
    ),
    _run_export,
)


# import

_USERS = 10  # users whose counts are printed
_ASKED = (
    "The archive was made under another key, or under none, so its memories count as a document's. "
    "If you trust who it says they are from, type yes: "
)

_AS_DOCUMENT = (
    "the archive was made under another key or under none, or an agent's shell imported it: its "
    "memories count as a document's, and none is pinned. To take them as it says, import it at a "
    "terminal and say yes, under another name (--into NAME) if this one is taken"
)


def _run_import(options: argparse.Namespace) -> int:
    """Brings the namespace into the store, whole or not at all, and says what does not match."""
    known = _recognized(options.source)
    if known or Path(options.source).suffix.lower() in exchange.READERS:
        return _import_rows(options, known)
    if Path(options.source).expanduser().is_dir():
        named = output.named(options.source)
        raise UsageError(f"{named} is a folder; memory-mesh import folder stores its files")
    into = store_folder.named_namespace(options)
    if options.into is not None:
        into = check_plain_namespace(options.into)
    done = _imported(options, into)
    name = shown_namespace(done.namespace)
    code = output.answer(
        {
            "namespace": name,
            "came_from": shown_namespace(done.came_from),
            "memories": done.memories,
            "position": done.position,
            "with_vectors": done.with_vectors,
            "remarks": list(done.remarks),
        },
        f"[MemoryMesh] Imported {output.counted(done.memories, 'memory')}, "
        f"{output.counted(done.position, 'block')}, into {name}; the chain was verified.",
        as_json=options.json,
    )
    if not options.json:
        user = user_of(done.namespace)
        part = option("namespace", name) if user is None else option("user", user)
        output.tell(completed(remark, options, part) for remark in done.remarks)
    return code


def _recognized(source: str) -> str | None:
    """Which tool wrote the file, in words."""
    try:
        found = other_tools.recognized(Path(source).expanduser())
    except (OSError, InvalidInput):
        return None  # the import itself says what is wrong with it
    return None if found is None else found.name


def _import_rows(options: argparse.Namespace, known: str | None) -> int:
    """Stores the memories of a file that another program wrote."""
    output.tell([f"This is {known or 'a file of rows'}: {output.named(options.source)}"])
    counting = Counting("memories")
    if options.into is not None:
        raise UsageError("--into is for archives; name a namespace with --namespace or --user")
    with cli_options.mesh_of(options) as mesh:
        done = mesh.import_(Path(options.source).expanduser(), progress=counting)
    counting.end()
    output.tell(f"refused: {reason}" for reason in done.reasons)
    users: dict[str, Json] = {user: dict(found) for user, found in done.users.items()}
    whose = [f"  {user}: {_counts(found)}" for user, found in done.users.items()]
    more = [f"  … and {len(whose) - _USERS} more users; --json names them."]
    output.answer(
        {
            "format": done.format,
            "outcomes": dict(done.outcomes),
            "reasons": list(done.reasons),
            "users": users,
        },
        f"[MemoryMesh] Read {output.named(options.source)}: {_counts(done.outcomes)}.",
        *whose[:_USERS],
        *(more if len(whose) > _USERS else ()),
        as_json=options.json,
    )
    return 1 if done.reasons else 0


def _counts(outcomes: Mapping[str, int]) -> str:
    said = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items() if count)
    return said or "no memory"


def _imported(options: argparse.Namespace, into: str | None) -> Imported:
    config, source = store_folder.config_of(options), Path(options.source).expanduser()
    as_document = _is_documents_word(options, source)
    counting = Counting("rows")
    refuse_service(config.store)
    if config.store is not None:
        from memory_mesh.care.server import import_to_server

        done = import_to_server(
            config, source, into=into, progress=counting, as_document=as_document
        )
    else:
        from memory_mesh.care import import_archive

        done = import_archive(
            config.db_dir, source, into=into, progress=counting, as_document=as_document
        )
    counting.end()
    return replace(done, remarks=(*done.remarks, _AS_DOCUMENT)) if as_document else done


def _is_documents_word(options: argparse.Namespace, source: Path) -> bool:
    """Whether nobody vouches for who the archive says its memories are from; asks on a terminal."""
    from memory_mesh.care.archives import is_own

    own = not agent_variables(os.environ) and is_own(source)
    if own or options.json or agent_variables(os.environ) or not sys.stdin.isatty():
        return not own
    return cli_options.asked(_ASKED) != "yes"


IMPORT = Command(
    "memory-mesh import memories.tar.gz",
    (
        adding(
            cli_options.add_place,
            "--from",
            "FILE",
            "source",
            "an archive, .jsonl, .csv, .md, .json, a vault of Obsidian or folder of notes, or what "
            "mem0, server-memory, LangGraph, basic-memory, ChatGPT, Claude.ai, Claude Code keep",
        ),
        argument(
            "--into",
            metavar="NAMESPACE",
            help="another name for the namespace; default: the name it had, or --namespace or "
            "--user",
        ),
    ),
    _run_import,
)


# move


def _run_move(options: argparse.Namespace) -> int:
    """Copies, verifies, and keeps the old files under another name."""
    from memory_mesh.care.moves import move_namespace, move_store

    cli_options.refuse_agent("move", "it takes the store away from whoever uses it")
    if not options.only:
        store_folder.refuse_one(options, "add --only to move that part, or leave it out")
    folder = store_folder.folder_of(
        options, "run memory-mesh export here, and memory-mesh import where it is to go"
    )
    to = Path(need_folder(options.to)).expanduser()
    done = (
        move_namespace(folder, store_folder.config_of(options).namespace, to)
        if options.only
        else move_store(folder, to)
    )
    names = [shown_namespace(name) for name in done.namespaces]
    code = output.answer(
        {
            "to": output.named(done.to),
            "namespaces": list(names),
            "kept": output.named(done.kept),
            "remarks": [output.named(remark) for remark in done.remarks],
        },
        f"[MemoryMesh] Moved {output.some(names)} to {output.named(done.to)}; the copy was "
        "verified.",
        as_json=options.json,
    )
    if not options.json:
        output.tell(output.named(remark) for remark in done.remarks)
    return code


MOVE = Command(
    "memory-mesh care move --to /mnt/volume/memory",
    (
        argument("--to", metavar="FOLDER", required=True, help="the new folder"),
        argument(
            "--only",
            action="store_true",
            help="move only the namespace, into the store of that folder, which is made if needed",
        ),
    ),
    _run_move,
)
