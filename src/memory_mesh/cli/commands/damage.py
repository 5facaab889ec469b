"""Commands for damaged stores: verify, repair and salvage."""

import argparse
import shlex
from collections.abc import Mapping

from memory_mesh.care.repairs import repair, salvage
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, argument
from memory_mesh.cli.progress import Counting
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, MeshError, NotFound, Status, Verification, times
from memory_mesh.model.care import (
    HELD_BACK,
    HeldBack,
    Salvaged,
    SalvagedNamespace,
    Unread,
)
from memory_mesh.privacy import masked
from memory_mesh.rules.arguments import PREFIX, shown_namespace, user_of
from memory_mesh.sync import MemoryMesh

# verify

_NEXT = (
    "Rebuild what is derived: memory-mesh repair{of}. See a memory that is named: memory-mesh "
    "get{of} --id ID, and as it was: memory-mesh restore --from BACKUP --to FOLDER, then "
    "memory-mesh get --db-dir FOLDER{of} --id ID"
)

_NEXT_IN_DATABASE = (
    "Rebuild the index of vectors: memory-mesh upkeep{of} --rebuild-index. See a memory that is "
    "named: memory-mesh get{of} --id ID; for what is lost restore a dump of the database"
)


def _run_verify(options: argparse.Namespace) -> int:
    """Prints what was checked and what is wrong; the exit code is 1 if anything is wrong."""
    store_folder.check_after(options)
    if options.all:
        return _all(options)
    with cli_options.mesh_of(options) as mesh:
        name = shown_namespace(mesh.config.namespace)
        named = options.namespace is not None or options.user is not None
        if named and name not in (there := mesh.care.namespaces()):
            which = f"its namespaces are: {output.some(there)}" if there else "it has none"
            where = store_folder.shown(mesh.config)
            raise NotFound(
                f"there is no namespace {name} in {where}; {which}. Check --db-dir or --store"
            )
        found = mesh.care.verify(checkpoint=options.checkpoint, against=options.against)
        if found.ok and not mesh.care.namespaces(limit=1):
            raise _no_store(mesh)
    if options.json:
        output.say_json(_verify_plain(name, found))
    else:
        _show(name, found, options)
    if found.ok:
        return 0
    raise MeshError(f"{_counted(found)} in the namespace {name}. {_verify_next(mesh)}")


def _all(options: argparse.Namespace) -> int:
    """Verifies one namespace after the other; JSON is a list."""
    if options.checkpoint is not None or options.against is not None:
        raise UsageError("a checkpoint is of one namespace: leave --all out")
    store_folder.refuse_one(options, "leave --all out")
    with cli_options.mesh_of(options) as mesh:
        usual = shown_namespace(mesh.config.namespace)
        told: list[Json] = []
        wrong: list[str] = []
        count = 0
        counting = Counting("namespaces")
        for name, view in store_folder.views(mesh, options.after):
            found = view.care.verify()
            count += 1
            wrong += [] if found.ok else [name]
            if options.json:
                told.append(_verify_plain(name, found))
            else:
                counting.end()
                part = "" if name == usual else _option_of(name)
                _show(name, found, options, part, counts=False)
            counting(count)
        counting.end()
        if not count and options.after is None:
            raise _no_store(mesh)
    if options.json:
        output.say_json(told)
    if not wrong:
        return 0
    are = "namespace is" if count == 1 else "namespaces are"
    raise MeshError(
        f"{len(wrong)} of {count} {are} damaged: {output.some(wrong)}. "
        f"{_verify_next(mesh, ' --namespace NAME')}"
    )


def _verify_next(mesh: MemoryMesh, of: str = "") -> str:
    """What to do about findings, in a folder or in a database."""
    return (_NEXT if mesh.config.store is None else _NEXT_IN_DATABASE).format(of=of)


def _option_of(name: str) -> str:
    """The option that names a namespace, or its user."""
    if name.startswith(PREFIX):
        return output.option("user", name.removeprefix(PREFIX))
    return output.option("namespace", name)


def _no_store(mesh: MemoryMesh) -> NotFound:
    folder = masked(store_folder.shown(mesh.config))
    return NotFound(f"there is no store in {folder}, so nothing to verify. Check --db-dir")


def _counted(found: Verification) -> str:
    return output.counted(len(found.findings), "finding")


def _verify_plain(name: str, verification: Verification) -> Json:
    return {
        "namespace": name,
        "ok": verification.ok,
        "checked": dict(verification.checked),
        "findings": [
            {"check": finding.check, "detail": finding.detail} for finding in verification.findings
        ],
    }


def _show(
    name: str,
    verification: Verification,
    options: argparse.Namespace,
    part: str | None = None,
    *,
    counts: bool = True,
) -> None:
    said = safe_text(name, keep_newlines=False)
    print(output.bold(f"Namespace {said}: {_counted(verification)}"))
    checked = verification.checked if counts else {}
    width = max((len(str(number)) for number in checked.values()), default=0)
    for what, number in checked.items():
        print(f"  checked {number:>{width}}  {safe_text(what, keep_newlines=False)}")
    for finding in verification.findings:
        detail = safe_text(output.completed(finding.detail, options, part), keep_newlines=False)
        print(f"  {output.bold('wrong')} {safe_text(finding.check)}: {detail}")


VERIFY = Command(
    "memory-mesh care verify --checkpoint today.json",
    (
        argument(
            "--checkpoint",
            metavar="FILE",
            help="save the last block of the chain to a file, to keep elsewhere",
        ),
        argument("--against", metavar="FILE", help="compare the chain with an earlier checkpoint"),
        argument("--all", action="store_true", help="check every namespace of the store"),
        store_folder.add_after,
    ),
    _run_verify,
)


# repair


def _run_repair(options: argparse.Namespace) -> int:
    """Rebuilds what is derived and prints what was done; exit code 1 if something is left."""
    if options.accept_loss:
        cli_options.refuse_agent("repair --accept-loss")
    with cli_options.mesh_of(options) as mesh:
        folder = store_folder.need_folder(mesh.config, "restore a backup that pg_dump made")
        namespace = mesh.config.namespace
    done = repair(folder, namespace, accept_loss=options.accept_loss)
    name = shown_namespace(namespace)
    lines = [f"[MemoryMesh] {name}: {sentence}." for sentence in done.done]
    if done.lost is not None:
        lines.append(f"[MemoryMesh] {name}: {done.lost}.")
    lines += [f"  wrong {each.check}: {each.detail}" for each in done.verification.findings]
    lines = [output.completed(line, options) for line in lines]
    output.answer(
        {
            "namespace": name,
            "ok": done.ok,
            "done": list(done.done),
            "lost": done.lost,
            "findings": [
                {"check": each.check, "detail": each.detail} for each in done.verification.findings
            ],
        },
        *lines,
        as_json=options.json,
    )
    if done.ok:
        return 0
    left = output.counted(len(done.verification.findings), "finding")
    raise MeshError(
        f"{left} {'is' if left.startswith('1 ') else 'are'} left in the namespace {name}: "
        "what is named is derived from nothing else. Restore a backup (memory-mesh restore "
        "--from BACKUP) or copy "
        "what can be read: memory-mesh salvage --to FOLDER"
    )


REPAIR = Command(
    "memory-mesh care repair",
    (
        argument(
            "--accept-loss",
            action="store_true",
            help="go on with a database that lacks acknowledged writes or was replaced",
        ),
    ),
    _run_repair,
)


# salvage

_SHOWN = output.NAMED  # entries of each list; --json has all


def _run_salvage(options: argparse.Namespace) -> int:
    """Copies all namespaces and prints what is as it was and what is not; then exit code 1."""
    store_folder.refuse_one(options, "leave it out; all that can be read is copied")
    with cli_options.mesh_of(options) as mesh:
        folder = store_folder.need_folder(mesh.config, "restore a backup that pg_dump made")
    done = salvage(folder, options.to)
    lines = [output.completed(line, options) for line in _lines(done)]
    output.answer(
        {
            "folder": done.folder,
            "complete": done.complete,
            "failed": dict(done.failed),
            "namespaces": [
                {
                    "namespace": shown_namespace(each.namespace),
                    "known": each.known,
                    "memories": each.memories,
                    "held_back": [_held(each, held, done.folder) for held in each.held_back],
                    "lost": list(each.lost),
                    "erased": each.erased,
                    "rebuilt": list(each.rebuilt),
                    "rows": dict(each.rows),
                    "unread": [
                        {
                            "table": one.table,
                            "first": one.first,
                            "last": one.last,
                            "why": one.why,
                            "memories": list(one.memories),
                        }
                        for one in each.unread
                    ],
                    "chain": {
                        "kept": each.chain.kept,
                        "sealed_anew": each.chain.sealed_anew,
                        "lost": each.chain.lost,
                        "breaks_at": each.chain.breaks_at,
                        "newest": None
                        if each.chain.newest is None
                        else times.iso(each.chain.newest),
                    },
                    "leftovers": each.leftovers,
                    "findings": [
                        {"check": one.check, "detail": one.detail}
                        for one in each.verification.findings
                    ],
                }
                for each in done.namespaces
            ],
        },
        *lines,
        as_json=options.json,
    )
    if done.complete:
        if not options.json:
            output.tell([f"all of it could be read; {_salvage_next(done)}"])
        return 0
    held = sum(len(each.held_back) for each in done.namespaces)
    waits = f" {output.counted(held, 'memory')} held back for you to decide on;"
    waits = waits if held else ""
    raise MeshError(f"not everything could be read;{waits} {_salvage_next(done)}")


def _salvage_next(done: Salvaged) -> str:
    folder = output.named(done.folder)
    own = output.option("db-dir", folder)
    return (
        f"the new store is in {folder}. Look at it: memory-mesh list{own}; then move "
        "the damaged folder away and this one to its place, or use it with --db-dir"
    )


def _lines(done: Salvaged) -> list[str]:
    lines = []
    for each in done.namespaces:
        lines += _about(each, done.folder)
    for name, why in done.failed.items():
        lines.append(f"[MemoryMesh] {shown_namespace(name)}: nothing could be read: {why}")
    return lines


def _about(each: SalvagedNamespace, folder: str) -> list[str]:
    name, chain = shown_namespace(each.namespace), each.chain
    counts = (
        f"{output.counted(each.known, 'memory')}: {each.memories} as they were, "
        f"{len(each.held_back)} held back, {len(each.lost)} lost; "
        f"{output.counted(chain.kept + chain.sealed_anew, 'block')}, {chain.lost} lost, "
        f"{output.counted(len(each.verification.findings), 'finding')} in the new file"
    )
    lines = [f"[MemoryMesh] {name}: {counts}"]
    if chain.breaks_at is not None:
        lines.append(f"  the chain breaks at block {chain.breaks_at}; it is sealed anew from there")
    if chain.lost:
        newest = "" if chain.newest is None else f"; this is as of {times.iso(chain.newest)}"
        lines.append(f"  changes that are lost: {chain.lost}{newest}")
    left_out = f"  erased since, and left out: {output.counted(each.erased, 'memory')}"
    lines += [left_out] if each.erased else []
    lines += _held_back(each, folder)
    lines += _some("lost", list(each.lost))
    lines += _some("not read", [_said(unread) for unread in each.unread])
    lines += _some("rebuilt", list(each.rebuilt))
    lines += _some("wrong", [f"{one.check}: {one.detail}" for one in each.verification.findings])
    if each.leftovers is not None:
        lines.append(f"  rows that were read and not taken over: namespaces/{each.leftovers}")
    return lines


def _held_back(each: SalvagedNamespace, folder: str) -> list[str]:
    """What waits for a person, and the commands to look at it and to accept it."""
    if not each.held_back:
        return []
    lines = [f"  held back: {len(each.held_back)}; no search, list, context or agent shows these"]
    for held in each.held_back[:_SHOWN]:
        look, accept = _commands(each, held, folder)
        lines += [
            f"    {held.id}: {output.unbroken(held.why)}",
            f"      its rows say: {output.unbroken(held.said)}",
            f"      look: {look}",
            f"      accept: {accept}",
        ]
    if len(each.held_back) > _SHOWN:
        lines.append(f"    … and {len(each.held_back) - _SHOWN} more; --json names them")
    return lines


def _commands(each: SalvagedNamespace, held: HeldBack, folder: str) -> tuple[str, str]:
    """The commands that show a memory that is held back, and that accept it."""
    user = user_of(each.namespace)
    given = {
        "project": held.project or "",
        "agent": held.agent,
        "session": held.session,
    }
    place = {
        "namespace": each.namespace if user is None else None,
        "user": user,
        "db-dir": folder,
    }
    audience, where = _options(given), _options(place)
    to = " --give-to PROJECT" if held.project == HELD_BACK else ""
    accept = f"memory-mesh review --id {held.id} --approve{to}{audience}{where}"
    if held.status is not Status.DELETED:
        return f"memory-mesh review --as-owner --id {held.id}{where}", accept
    if not to:
        accept = f"memory-mesh restore --id {held.id}{audience}{where}"
    return f"memory-mesh history --id {held.id}{audience}{where}", accept


def _options(given: Mapping[str, str | None]) -> str:
    """Options as a shell takes them, each after a space."""
    return "".join(
        f" --{name} {shlex.quote(output.named(value))}"
        for name, value in given.items()
        if value is not None
    )


def _some(what: str, entries: list[str]) -> list[str]:
    lines = [f"  {what} {output.unbroken(entry)}" for entry in entries[:_SHOWN]]
    if len(entries) > _SHOWN:
        lines.append(f"  {what} … and {len(entries) - _SHOWN} more; --json names them")
    return lines


def _said(unread: Unread) -> str:
    numbers = "" if unread.first is None else f" row {unread.first}"
    if unread.first is not None and unread.last != unread.first:
        numbers = f" rows {unread.first} to {unread.last or 'the end'}"
    of = f" (of {output.some(unread.memories)})" if unread.memories else ""
    return f"{unread.table}{numbers}: {unread.why}{of}"


def _held(each: SalvagedNamespace, held: HeldBack, folder: str) -> dict[str, Json]:
    look, accept = _commands(each, held, folder)
    return {
        "id": held.id,
        "why": held.why,
        "said": held.said,
        "status": held.status.value,
        "project": held.project,
        "agent": held.agent,
        "session": held.session,
        "look": look,
        "accept": accept,
    }


SALVAGE = Command(
    "memory-mesh care salvage --to rescued",
    (argument("--to", metavar="FOLDER", required=True, help="the folder of the new store"),),
    _run_salvage,
)
