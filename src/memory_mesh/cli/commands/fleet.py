"""`memory-mesh fleet`: the servers of a store that is shared out among many, and its places."""

import argparse
from collections import Counter

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.cli import options as cli_options, output, store_folder
from memory_mesh.cli.command_table import Command, UsageError, about, argument
from memory_mesh.model import Json

if TYPE_CHECKING:
    from memory_mesh.care.server import FleetOwner
    from memory_mesh.model.care import MovedPlace

_WHAT = """\
Run it as the owner of the directory, who is a superuser of each server. `setup-server
--places N` makes the directory; the first servers that are added get the places."""
_SHOWN = 20  # places that are named


def _run_fleet(options: argparse.Namespace) -> int:
    """Runs one action on the fleet."""
    from memory_mesh.care.server import fleet_of

    if options.action != "show":
        cli_options.refuse_agent(f"fleet {options.action}", "it moves what servers hold")
    alone = options.action == "move" and store_folder.named_namespace(options) is not None
    needed = options.action in {"add-server", "move", "drain"} and not alone
    if needed != bool(options.names):
        raise UsageError(f"fleet {options.action} {_NAMES[options.action]}".strip())
    with fleet_of(store_folder.config_of(options)) as fleet:
        return _ACTIONS[options.action](fleet, options)


def _show(fleet: "FleetOwner", options: argparse.Namespace) -> int:
    places = fleet.shown()
    held, size = Counter[str](), Counter[str]()
    for place in places:
        held[place.server] += 1
        size[place.server] += place.bytes or 0
    lines = [
        f"{address}: {output.counted(held[address], 'place')}, {size[address] / 1e6:.1f} MB"
        + (", drained" if draining else "")
        for address, draining in fleet.servers()
    ]
    lines += [f"{place.name} on {place.server}: {place.state}" for place in places if place.state]
    away = [place.name for place in places if place.bytes is None]
    if away:
        lines.append(f"Away: {output.some(away[:_SHOWN])}")
    return output.answer(
        {
            "servers": [
                {"address": address, "drained": draining} for address, draining in fleet.servers()
            ],
            "places": [
                output.plain(place, "name server epoch state bytes writes") for place in places
            ],
        },
        *lines,
        as_json=options.json,
    )


def _add(fleet: "FleetOwner", options: argparse.Namespace) -> int:
    added = fleet.add_servers(options.names)
    lines = [f"[MemoryMesh] {address} belongs to the fleet." for address in added]
    return output.answer({"added": list(added)}, *lines, as_json=options.json)


def _move(fleet: "FleetOwner", options: argparse.Namespace) -> int:
    namespace = store_folder.named_namespace(options)
    if namespace is not None:
        place = fleet.unsettle(namespace) if options.back else fleet.settle(namespace, _to(options))
        line = f"[MemoryMesh] Its memories are in {place}."
        return output.answer({"place": place}, line, as_json=options.json)
    if options.back:
        taken = {place: fleet.back(place) for place in options.names}
        lines = [f"[MemoryMesh] {place} is where it was." for place in taken]
        return output.answer({"back": list(taken)}, *lines, as_json=options.json)
    to = _to(options)
    return _told([fleet.move(place, to, output.progress) for place in options.names], options)


def _to(options: argparse.Namespace) -> str:
    if options.to is None:
        raise UsageError("say where to: fleet move PLACE --to SERVER")
    to: str = options.to
    return to


def _drain(fleet: "FleetOwner", options: argparse.Namespace) -> int:
    return _told(
        [done for server in options.names for done in fleet.drain(server, output.progress)], options
    )


def _rebalance(fleet: "FleetOwner", options: argparse.Namespace) -> int:
    wanted = fleet.proposals()
    if options.plan:
        lines = [f"{each.place}: {each.source} -> {each.target}" for each in wanted]
        return output.answer(
            [output.plain(each, "place source target") for each in wanted],
            *(lines or ["[MemoryMesh] The servers have even shares."]),
            as_json=options.json,
        )
    return _told([fleet.move(each.place, each.target, output.progress) for each in wanted], options)


def _told(moved: "list[MovedPlace]", options: argparse.Namespace) -> int:
    output.end_progress()
    lines = [
        f"[MemoryMesh] {each.place} moved in {each.seconds:.1f} s; writers waited "
        f"{each.pause * 1000:.0f} ms at most."
        + ("" if each.dropped else " Somebody still reads the old copy: run this again.")
        for each in moved
    ]
    plain: list[Json] = [output.plain(each, "place seconds pause dropped") for each in moved]
    return output.answer(plain, *(lines or ["[MemoryMesh] Nothing moved."]), as_json=options.json)


_NAMES = {
    "show": "",
    "add-server": "ADDRESS …",
    "move": "PLACE … --to SERVER",
    "drain": "SERVER …",
    "rebalance": "",
}
_ACTIONS = {
    "show": _show,
    "add-server": _add,
    "move": _move,
    "drain": _drain,
    "rebalance": _rebalance,
}
FLEET = Command(
    "memory-mesh --store postgresql://owner@localhost/directory server fleet show",
    (
        about(_WHAT),
        argument(
            "action",
            nargs="?",
            choices=tuple(_ACTIONS),
            default="show",
            help="show servers and places (default); take a server in (add-server); move places to "
            "a server, or go on with moves that were killed (move); with --user, give the memories "
            "of one user a place of their own there, or take them --back (move); move all places "
            "of a server to the others (drain); move places until servers have even shares "
            "(rebalance)",
        ),
        argument("names", nargs="*", metavar="NAME", help="addresses of servers, or places"),
        argument("--to", metavar="SERVER", help="where places are moved to"),
        argument(
            "--back", action="store_true", help="take a move back that was begun and not decided"
        ),
        argument(
            "--plan", action="store_true", help="say what rebalance would move, and move nothing"
        ),
    ),
    _run_fleet,
)
