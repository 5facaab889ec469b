"""`memory-mesh links`."""

import argparse
from collections.abc import Mapping, Sequence

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import NotFound
from memory_mesh.model import Json, Link, Memory, Scope, Status, record
from memory_mesh.model.commit import SIMILAR
from memory_mesh.model.graph import Walk
from memory_mesh.sync import MemoryMesh
from memory_mesh.verbs.graph import MOST_HOPS

EXAMPLE = "memory-mesh links mem_1767225600000_0a1b2c --hops 2"
_NONE = "[MemoryMesh] no links. Links to similar memories are made by: memory-mesh upkeep"
_WAIT = "wait for their links to similar memories; to make them now: memory-mesh upkeep"
_WORDS = 70  # columns of a memory's text
_LISTED = tuple(status for status in Status if status is not Status.DELETED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    cli_options.add_any_id(parser)
    parser.add_argument(
        "--type", metavar="TYPE", action="append", default=[], dest="types",
        help="only links of this type, such as similar or related; may be repeated",
    )  # fmt: skip
    parser.add_argument("--hops", metavar="N", type=int, help="follow links for so many steps")
    parser.add_argument(
        "--to", metavar="ID", help=f"show a shortest way to this memory, {MOST_HOPS} steps at most"
    )
    parser.add_argument("--limit", metavar="N", type=int, default=100, help="with --hops: the most")


def run(options: argparse.Namespace) -> int:
    """Prints the links of a memory, what they lead to, or the way to another memory."""
    memory_id = cli_options.any_id(options, "links")
    if options.hops is not None and options.to is not None:
        raise UsageError(f"--to finds a way of up to {MOST_HOPS} steps; leave --hops out")
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(memory_id, reader, mesh),
    ):
        if options.to is not None:
            return _way(mesh, memory_id, reader, options)
        if options.hops is not None:
            reached = mesh.traverse(
                memory_id, max_hops=options.hops, types=options.types, limit=options.limit,
                scope=reader,
            )  # fmt: skip
            return _walked(reached, options)
        return _listed(mesh, memory_id, reader, options)


def _listed(mesh: MemoryMesh, memory_id: str, reader: Scope, options: argparse.Namespace) -> int:
    near = mesh.traverse(memory_id, max_hops=1, limit=1_000, include=_LISTED, scope=reader)
    texts = {each.id: each.memory.text for each in near}
    shown = {each.id: _marked(each.memory) for each in near}
    links = mesh.links(memory_id, types=options.types, scope=reader)
    waiting = mesh.stats().to_link
    return output.answer(
        [_plain(link, texts) for link in links],
        *([_line(link, memory_id, shown) for link in _once(links, memory_id)] or [_NONE]),
        as_json=options.json,
        remark=f"{output.counted(waiting, 'text')} {_WAIT}" if waiting else "",
    )


def _marked(memory: Memory) -> str:
    """The text of a memory, with its status if a search would not show it."""
    return memory.text if memory.status is Status.ACTIVE else f"({memory.status}) {memory.text}"


def _once(links: Sequence[Link], memory_id: str) -> list[Link]:
    """The links, each pair of similar memories once: likeness has no direction."""
    out = {link.target for link in links if link.source == memory_id and link.type == SIMILAR}
    return [link for link in links if link.type != SIMILAR or link.source not in out]


def _walked(reached: Walk, options: argparse.Namespace) -> int:
    lines = [
        f"{each.hops}  {_kind(each.link)}  {each.id}  {output.one_line(each.memory.text, _WORDS)}"
        for each in reached
    ]
    plain: list[Json] = [
        {**output.described(each.memory), "hops": each.hops, "link": described(each.link)}
        for each in reached
    ]
    return output.answer(
        plain,
        *(lines or ["[MemoryMesh] nothing is reached."]),
        as_json=options.json,
        remark="there are more; raise --limit" if reached.cut else "",
    )


def _way(mesh: MemoryMesh, memory_id: str, reader: Scope, options: argparse.Namespace) -> int:
    mesh.traverse(memory_id, max_hops=1, limit=1, scope=reader)  # or it is the missing one
    try:
        found = mesh.path(
            memory_id, options.to, max_hops=MOST_HOPS, types=options.types, scope=reader
        )
    except NotFound:
        raise UsageError(str(cli_options.missing(options.to, reader, mesh))) from None
    if found is None:
        none = f"[MemoryMesh] no way of up to {MOST_HOPS} steps was found."
        return output.answer(None, none, as_json=options.json)
    ids = dict.fromkeys(id_ for link in found for id_ in (link.source, link.target))
    texts = {id_: mesh.history(id_, scope=reader)[-1].text for id_ in ids}
    same = "[MemoryMesh] it is the same memory."
    return output.answer(
        [_plain(link, texts) for link in found],
        *([_step(link, texts) for link in found] or [same]),
        as_json=options.json,
    )


def described(link: Link) -> dict[str, Json]:
    """Returns a link as JSON values."""
    return {
        "source": link.source,
        "target": link.target,
        "type": link.type,
        "similarity": link.similarity,
        "at": None if link.at is None else record.iso(link.at),
    }


def _plain(link: Link, texts: Mapping[str, str]) -> dict[str, Json]:
    known = {id_: texts[id_] for id_ in (link.source, link.target) if id_ in texts}
    return {**described(link), "texts": dict(known)}


def _line(link: Link, memory_id: str, texts: Mapping[str, str]) -> str:
    arrow, other = ("->", link.target) if link.source == memory_id else ("<-", link.source)
    return f"{arrow} {_kind(link)}  {_named(other, texts)}"


def _step(link: Link, texts: Mapping[str, str]) -> str:
    return f"{_named(link.source, texts)}\n  {_kind(link)} -> {_named(link.target, texts)}"


def _named(id_: str, texts: Mapping[str, str]) -> str:
    return f"{id_}  {output.one_line(texts.get(id_, ''), _WORDS)}".rstrip()


def _kind(link: Link) -> str:
    return link.type if link.similarity is None else f"{link.type} {link.similarity:.2f}"
