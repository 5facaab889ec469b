"""Commands about a whole store: namespaces, keys and stats."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh._version import __version__
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.care import store_files
from memory_mesh.care.key_file import STATED
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, adding, argument
from memory_mesh.config import Config
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import InvalidInput, Json, MeshError, Stats, StoreError
from memory_mesh.model.care import DeletedNamespace
from memory_mesh.model.stats import OUTGROWN
from memory_mesh.platform.store_urls import is_service
from memory_mesh.platform.text_files import folder_bytes
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import check_plain_namespace, shown_namespace
from memory_mesh.sync import MemoryMesh

# namespaces

_DELETING = """\
`delete NAME` removes a namespace for good, with every file, index and copy of it in
the store's folder and what a mirror wrote of it; `delete --user ID` removes all that is
kept of a user. It names what it cannot reach. Backups and archives of before still hold
it, but restore and import leave it out."""


def _run_namespaces(options: argparse.Namespace) -> int:
    """Prints the names, one per line, or deletes one namespace."""
    if options.action == "delete":
        return _deleted(options)
    if options.name is not None:
        raise UsageError("list takes no name. See: memory-mesh care namespaces --help")
    with cli_options.mesh_of(options) as mesh:
        names = mesh.care.namespaces(**cli_options.given(options, MemoryMesh.care.namespaces))
        cold = [] if options.json else store_folder.cold_of(mesh, names)
    lines = [safe_text(name, keep_newlines=False) for name in names]
    if cold:
        size = sum(each.bytes for each in cold)
        count = output.counted(sum(each.memories for each in cold), "memory")
        named = output.some([shown_namespace(each.namespace) for each in cold])
        output.tell([f"cold, on object storage, {count} in {size:,} bytes: {named}"])
    return output.answer(names, *lines, as_json=options.json)


def _deleted(options: argparse.Namespace) -> int:
    """Asks, deletes and says what is gone."""
    if (options.name is None) == (options.user is None):
        raise UsageError(
            "give the NAME of a namespace, or --user ID. See: memory-mesh care namespaces --help"
        )
    if options.namespace is not None:
        raise UsageError("name the namespace after `delete`, without --namespace")
    cli_options.refuse_agent("namespaces delete")
    with cli_options.mesh_of(options) as mesh:
        config = mesh.config
        if options.name is not None:
            check_plain_namespace(options.name)
            if options.name in set(mesh.users()) - {*mesh.care.namespaces()}:
                whose = output.option("user", options.name)
                said = output.completed(f"memory-mesh namespaces delete{whose}", options)
                raise UsageError(f"that is a user, and no namespace; to delete one: {said}")
    _confirm(options)
    gone = _gone(options, config)
    count = "its memories"
    if gone.memories is not None:
        count = output.counted(gone.memories, "memory")
    if config.store is None:
        count = f"{count}, {output.counted(gone.files, 'file')}, {gone.bytes:,} bytes"
    elif gone.files:
        count = f"{count}, {output.counted(gone.files, 'archive')} on object storage"
    lines = [
        f"[MemoryMesh] Deleted the namespace {gone.namespace}: {count}.",
        "Backups made before still hold it; restore and import leave it out.",
    ]
    if not gone.noted:
        lines.append(
            "[MemoryMesh] Its database was too damaged to tell which it was, so no erasure could "
            "be noted: a backup of it would bring it back. Remove it from those, too."
        )
    lines += [f"[MemoryMesh] Not reached: {safe_text(each)}." for each in gone.left]
    plain: Json = {
        "deleted": gone.namespace,
        "memories": gone.memories,
        "files": gone.files,
        "bytes": gone.bytes,
        "noted": gone.noted,
        "left": list(gone.left),
    }
    return output.answer(plain, *lines, as_json=options.json)


def _gone(options: argparse.Namespace, config: Config) -> DeletedNamespace:
    if config.store is not None:
        from memory_mesh.care.server import delete_from_server

        name = config.namespace if options.name is None else check_plain_namespace(options.name)
        return delete_from_server(replace(config, namespace=name))
    from memory_mesh.care.moves import delete_namespace

    return delete_namespace(config.db_dir, options.name, user=options.user)


def _confirm(options: argparse.Namespace) -> None:
    """Asks on a terminal for the name once more; anywhere else --yes is needed."""
    name = options.name if options.user is None else options.user
    if options.yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(
            f"nothing was deleted: this is no terminal, so add --yes to delete {name} for good"
        )
    what = "namespace" if options.user is None else "user"
    output.note(f"This deletes the {what} {name} for good: nothing in the store brings it back.")
    if cli_options.asked(f"Type {safe_text(name, keep_newlines=False)} to go on: ") != name:
        raise InvalidInput("nothing was deleted: that was another name")


NAMESPACES = Command(
    "memory-mesh care namespaces delete old-shop",
    (
        about(_DELETING),
        argument(
            "action",
            nargs="?",
            choices=("list", "delete"),
            default="list",
            help="list the namespaces (default), or delete one",
        ),
        argument("name", nargs="?", metavar="NAME", help="the namespace to delete"),
        adding(cli_options.add_operation, MemoryMesh.care.namespaces),
        argument("--yes", action="store_true", help="delete without a question, as in a pipe"),
    ),
    _run_namespaces,
)


# keys

_WHAT = """\
A store's key makes its placeholders and keeps out what was rejected. It lies in a
file outside the store: back that up apart from the store. It encrypts nothing."""

_OTHERS = (
    "No other machine has the new key. Copy {path} to each that uses the database, in the place of "
    "its own, and start its processes again. From the first write here on they write nothing "
    "until they have it, since what is rejected here would not be kept out there"
)


def _run_keys(options: argparse.Namespace) -> int:
    """Shows, rotates or replaces the store's key."""
    if options.action != "show":
        cli_options.refuse_agent(f"keys {options.action}")
    with cli_options.mesh_of(options) as mesh:
        folder, shared = mesh.config.db_dir, mesh.config.store is not None
    if options.action == "rotate":
        return _rotated(folder, options, shared=shared)
    if options.action == "replace":
        return _replaced(folder, options)
    return _shown(folder, options)


def _shown(folder: Path, options: argparse.Namespace) -> int:
    found = store_files.key_state(folder)
    if options.json:
        output.say_json(
            {
                "file": found.path,
                "stated_by": found.stated_by,
                "keys": [{"id": id_, "made": made} for id_, made in found.keys],
                "written_with": list(found.recorded),
                "missing": list(found.missing),
                "problem": found.problem,
            }
        )
    else:
        in_use = found.keys[-1][0] if found.keys else None
        stated = {} if found.stated_by is None else {"stated by": found.stated_by}
        file = {} if stated and not found.path else {"key file": found.path or "none yet"}
        print(*output.pairs(stated | file), sep="\n")
        for id_, made in found.keys:
            when = "" if made == STATED else f"  made {made}"
            output.say(f"  {id_}{when}{'  in use' if id_ == in_use else ''}")
        for id_ in found.missing:
            output.say(f"  {id_}  the store was written with it, and it is not here")
        if not found.keys and found.problem is None:
            output.say("  none yet: the first memory that needs one makes it")
    if found.problem is not None:
        raise MeshError(found.problem)
    return 0


def _rotated(folder: Path, options: argparse.Namespace, *, shared: bool) -> int:
    new = store_files.rotate_key(folder)
    path = store_files.key_state(folder).path
    output.hint(f"Back up {path} now: the copies made before lack the new key")
    if shared:
        output.tell([_OTHERS.format(path=path)])
    where = "in use on this machine" if shared else "in use"
    return output.answer(
        {"key": new, "file": path},
        f"[MemoryMesh] The key {new} is {where}. Older keys stay in {path}: what was rejected "
        "stays out. A value gets a new placeholder from now on.",
        as_json=options.json,
    )


def _replaced(folder: Path, options: argparse.Namespace) -> int:
    done = store_files.replace_key(folder)
    lost = ", ".join(done.lost) or "none that the store knows of"
    tombstones = output.counted(done.tombstones, "tombstone")
    texts = output.counted(done.placeholders, "text")
    lines = [
        f"[MemoryMesh] The key {done.key} is in use, in {done.path}. Lost: {lost}.",
        "No memory is lost: the key encrypts nothing. What no longer matches, at most:",
        f"  {tombstones}: values that were rejected may be stored again",
        f"  {texts} with placeholders: a search for the value finds them no more",
        "What was erased stays erased.",
    ]
    lines += [f"  not counted, it cannot be read: {name}" for name in done.unread]
    plain: dict[str, Json] = {
        "key": done.key,
        "file": done.path,
        "lost": list(done.lost),
        "tombstones": done.tombstones,
        "placeholders": done.placeholders,
        "unread": list(done.unread),
    }
    return output.answer(plain, *lines, as_json=options.json)


KEYS = Command(
    "memory-mesh care keys rotate",
    (
        about(_WHAT),
        argument(
            "action",
            nargs="?",
            choices=("show", "rotate", "replace"),
            default="show",
            help="show where the keys lie and whether they are the right ones (default); use a new "
            "key beside the old ones (rotate); go on with a new key after the old one was lost "
            "(replace)",
        ),
    ),
    _run_keys,
)


# stats


def _run_stats(options: argparse.Namespace) -> int:
    """Prints RFC-0011 9.2's four lines; if the store cannot be opened, its path and status."""
    if options.json and options.format != "text":
        raise UsageError(f"give --json or --format {options.format}, not both")
    mesh = cli_options.mesh_of(options)
    path = masked(store_folder.shown(mesh.config))
    try:
        with mesh:
            stats = mesh.stats()
            whole = folder_bytes(mesh.folder) if mesh.config.store is None else None
            shared = is_service(mesh.config.store or "")  # its namespaces are not for everybody
            names = [] if shared else mesh.care.namespaces(limit=2)
            there = shared or bool(stats.sizes.database or names)
    except StoreError:
        _say_down(options, path)
        raise
    if not there:
        output.tell([f"there is no store yet in {path}"])
    if options.format == "prometheus" and not there:
        _say_down(options, path)
        return 1
    if options.format == "prometheus":
        print(exposition(_gauges(stats, whole)), end="")
        return 0
    status = "connected" if there else "no store yet"
    lines = {
        "Total Memories": stats.memories,
        "Total Skills": stats.skills,
        "DB Path": path,
        "Status": status,
    }
    if whole is not None and output.on_terminal() and not options.verbose:
        lines["Size"] = f"{stats.bytes / 1e6:.2f} MB, the whole store {whole / 1e6:.2f} MB"
    if any(state.outgrown for state in stats.spaces):
        output.tell([OUTGROWN])
    if set(names) - {shown_namespace(stats.namespace)}:
        output.hint("Users and other namespaces have memories of their own: memory-mesh namespaces")
    if options.verbose:
        lines |= _more(stats, whole)
    return output.answer(
        {
            "namespace": shown_namespace(stats.namespace),
            **output.plain(stats, "memories skills by_status blocks recalls seq"),
            "bytes": None if whole is None else stats.bytes,
            "sizes": None if whole is None else {**_sizes(stats), "store": whole},
            **output.plain(stats, "to_link to_reindex expired"),
            "spaces": [
                {
                    "name": state.space.name,
                    **output.plain(state, "vectors indexed pending outgrown"),
                }
                for state in stats.spaces
            ],
            "db_path": path,
            "status": status,
        },
        *(f"[MemoryMesh] {name}: {value}" for name, value in lines.items()),
        as_json=options.json,
        remark=output.reindex_hint(stats.to_reindex) if stats.to_reindex else "",
    )


def _say_down(options: argparse.Namespace, path: str) -> None:
    """Says that the store cannot be opened; the error itself follows on standard error."""
    if options.format == "prometheus":
        print(exposition([_up(0)]), end="")
    elif not options.json:
        output.say(f"[MemoryMesh] DB Path: {path}\n[MemoryMesh] Status: disconnected")


# Figures as Prometheus reads them: its text exposition format, version 0.0.4.


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric that may go up and down, with its samples."""

    name: str  # without `memory_mesh_`
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def exposition(gauges: Iterable[Gauge]) -> str:
    """Returns the lines of all metrics, each with its help and its type."""
    return "".join(
        f"{line}\n" for gauge in gauges if gauge.samples for line in _metric_lines(gauge)
    )


def _metric_lines(gauge: Gauge) -> list[str]:
    name = f"memory_mesh_{gauge.name}"
    samples = (f"{name}{_labels(labels)} {number}" for labels, number in gauge.samples)
    about = gauge.help.replace("\\", "\\\\").replace("\n", "\\n")
    return [f"# HELP {name} {about}", f"# TYPE {name} gauge", *samples]


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _up(state: int) -> Gauge:
    return Gauge("up", "1 if the store is there and could be opened and read.", [({}, state)])


def _gauges(stats: Stats, whole: int | None) -> list[Gauge]:
    """The figures of one namespace, each sample labelled with its name.

    `whole` is None for a store in a database. What the rows of one namespace take up there is known
    only to who reads them all, and the size of its tables is that of others, too: no size is shown.
    """
    own = {"namespace": masked(shown_namespace(stats.namespace))}

    def gauge(name: str, about: str, number: int) -> Gauge:
        return Gauge(name, about, [(own, number)])

    def by(name: str, about: str, label: str, numbers: Mapping[str, int]) -> Gauge:
        samples = [({**own, label: key}, number) for key, number in numbers.items()]
        return Gauge(name, about, samples)

    spaces = {state.space.name: state for state in stats.spaces}
    vectors = {name: state.vectors for name, state in spaces.items()}
    indexed = {name: state.indexed for name, state in spaces.items()}
    waiting = {name: state.pending for name, state in spaces.items()}
    on_disk = [] if whole is None else [
        Gauge(
            "store_bytes", "Bytes of everything in the store's folder.", [({}, whole)]
        ),
        by("bytes", "Bytes on disk by what they hold.", "part", _sizes(stats)),
    ]  # fmt: skip
    return [
        Gauge("info", "The running version.", [({"version": __version__}, 1)]),
        _up(1),
        *on_disk,
        by("memories", "Memories by status.", "status", {"active": 0, **stats.by_status}),
        gauge("skills", "Active skills.", stats.skills),
        gauge("blocks", "Blocks of the audit chain.", stats.blocks),
        gauge("recalls", "Records of searches.", stats.recalls),
        gauge("seq", "The number of the last write.", stats.seq),
        gauge(
            "texts_to_reindex", "Texts with keyword terms of an earlier version.", stats.to_reindex
        ),
        by("vectors", "Vectors by space.", "space", vectors),
        by("vectors_indexed", "Vectors in the index, by space.", "space", indexed),
        by("texts_without_vector", "Texts that wait for a vector, by space.", "space", waiting),
    ]


def _sizes(stats: Stats) -> dict[str, int]:
    sizes = stats.sizes
    return {
        "database": sizes.database,
        "wal": sizes.wal,
        "spool": sizes.spool,
        "copies": sizes.copies,
        "index": sizes.index,
        "vectors": sizes.vectors,
    }


def _more(stats: Stats, whole: int | None) -> dict[str, str | int]:
    on_disk = {} if whole is None else {
        "Bytes": stats.bytes,
        **{f"Bytes {part}": number for part, number in _sizes(stats).items()},
        "Bytes store": whole,
    }  # fmt: skip
    return {
        "Namespace": safe_text(shown_namespace(stats.namespace), keep_newlines=False),
        **{f"Memories {status}": count for status, count in stats.by_status.items()},
        "Audit Blocks": stats.blocks,
        "Recall Blocks": stats.recalls,
        "Seq": stats.seq,
        **on_disk,
        "To Link": stats.to_link,
        "To Reindex": stats.to_reindex,
        "Expired": stats.expired,
        **{
            f"Vectors {safe_text(state.space.name, keep_newlines=False)}": (
                f"{state.vectors}"
                f"{f', {state.indexed} of them in the index' if state.body is not None else ''}"
                ", missing for "
                f"{output.counted(state.pending, 'text')}"
            )
            for state in stats.spaces
        },
    }


STATS = Command(
    "memory-mesh stats --verbose",
    (
        argument(
            "--verbose",
            action="store_true",
            help="more figures, and sizes on disk; not of a database",
        ),
        argument(
            "--format",
            choices=("text", "prometheus"),
            default="text",
            help="text, or the figures as Prometheus reads them",
        ),
    ),
    _run_stats,
)
