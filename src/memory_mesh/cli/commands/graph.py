"""Commands for what joins memories: link, links, clusters, graph and episode."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.mesh.operations.graph import LINK_TYPES, MOST_HOPS
from memory_mesh.model import SIMILAR, Json, Link, NotFound, Scope, Status, times
from memory_mesh.model.graph import Cluster, Episode, Neighbourhood, Walk
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.sync import MemoryMesh

_LINK = "source target type similarity at"  # its fields, as JSON has them

# link


def _run_link(options: argparse.Namespace) -> int:
    """Links two memories, or removes the link."""
    said = cli_options.given(options, MemoryMesh.graph.link)
    ends = (options.source, options.target)
    with cli_options.opened(options) as (mesh, reader):
        try:
            if options.remove:
                gone = mesh.graph.unlink(*ends, scope=reader, **said)
            else:
                mesh.graph.link(*ends, scope=reader, **said)
        except NotFound:
            known = (end for end in ends if mesh.get(end, scope=reader) is None)
            raise cli_options.missing(next(known, ends[0]), reader, mesh) from None
    plain = {"source": ends[0], "target": ends[1], "type": options.type}
    if not options.remove:
        done = f"[MemoryMesh] Linked {ends[0]} to {ends[1]} ({options.type})"
        return output.answer(plain, done, as_json=options.json)
    done = f"[MemoryMesh] {'Removed the link' if gone else 'There was no such link'}"
    return output.answer(
        plain | {"removed": gone}, f"{done} ({options.type})", as_json=options.json
    )


LINK = Command(
    "memory-mesh graph link mem_1767225600000_0a1b2c mem_1767225700000_3d4e5f --type depends_on",
    (
        argument("source", metavar="ID", help="the memory that the link begins at"),
        argument("target", metavar="OTHER", help="the id of the memory that it leads to"),
        argument("--remove", action="store_true", help="remove such a link instead"),
        adding(
            cli_options.add_operation,
            MemoryMesh.graph.link,
            {"type": {"choices": LINK_TYPES, "default": LINK_TYPES[0]}},
        ),
    ),
    _run_link,
)


# links

_NONE = "[MemoryMesh] no links. Links to similar memories are made by: memory-mesh upkeep"

_WAIT = "wait for their links to similar memories; to make them now: memory-mesh upkeep"

_WORDS = 70  # columns of a memory's text

_OF_LINKS = {
    "max_hops": {"flag": "--hops", "help": "follow links for so many steps, 1 to 10"},
    "limit": {"help": "with --hops: the most (default: 100)"},
}

_LISTED = tuple(status for status in Status if status is not Status.DELETED)


def _run_links(options: argparse.Namespace) -> int:
    """Prints the links of a memory, what they lead to, or the way to another memory."""
    memory_id = cli_options.any_id(options, "links")
    if options.max_hops is not None and options.to is not None:
        raise UsageError(f"--to finds a way of up to {MOST_HOPS} steps; leave --hops out")
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(memory_id, reader, mesh),
    ):
        if options.to is not None:
            return _way(mesh, memory_id, reader, options)
        if options.max_hops is not None:
            said = cli_options.given(options, MemoryMesh.graph.traverse)
            return _walked(mesh.graph.traverse(memory_id, scope=reader, **said), options)
        return _listed(mesh, memory_id, reader, options)


def _listed(mesh: MemoryMesh, memory_id: str, reader: Scope, options: argparse.Namespace) -> int:
    near = mesh.graph.traverse(memory_id, max_hops=1, limit=1_000, include=_LISTED, scope=reader)
    texts = {each.id: each.memory.text for each in near}
    shown = {
        each.id: (
            each.memory.text
            if each.memory.status is Status.ACTIVE
            else f"({each.memory.status}) {each.memory.text}"
        )
        for each in near
    }
    links = mesh.graph.links(
        memory_id, scope=reader, **cli_options.given(options, MemoryMesh.graph.links)
    )
    waiting = mesh.stats().to_link
    return output.answer(
        [_links_plain(link, texts) for link in links],
        *([_links_line(link, memory_id, shown) for link in _once(links, memory_id)] or [_NONE]),
        as_json=options.json,
        remark=f"{output.counted(waiting, 'text')} {_WAIT}" if waiting else "",
    )


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
        {**output.described(each.memory), "hops": each.hops, "link": output.plain(each.link, _LINK)}
        for each in reached
    ]
    return output.answer(
        plain,
        *(lines or ["[MemoryMesh] nothing is reached."]),
        as_json=options.json,
        remark="there are more; raise --limit" if reached.cut else "",
    )


def _way(mesh: MemoryMesh, memory_id: str, reader: Scope, options: argparse.Namespace) -> int:
    mesh.graph.traverse(memory_id, max_hops=1, limit=1, scope=reader)  # or it is the missing one
    try:
        said = cli_options.given(options, MemoryMesh.graph.path) | {"max_hops": MOST_HOPS}
        found = mesh.graph.path(memory_id, options.to, scope=reader, **said)
    except NotFound:
        raise UsageError(str(cli_options.missing(options.to, reader, mesh))) from None
    if found is None:
        none = f"[MemoryMesh] no way of up to {MOST_HOPS} steps was found."
        return output.answer(None, none, as_json=options.json)
    ids = dict.fromkeys(id_ for link in found for id_ in (link.source, link.target))
    texts = {id_: mesh.history(id_, scope=reader)[-1].text for id_ in ids}
    same = "[MemoryMesh] it is the same memory."
    return output.answer(
        [_links_plain(link, texts) for link in found],
        *(
            [
                f"{_named(link.source, texts)}\n  {_kind(link)} -> {_named(link.target, texts)}"
                for link in found
            ]
            or [same]
        ),
        as_json=options.json,
    )


def _links_plain(link: Link, texts: Mapping[str, str]) -> dict[str, Json]:
    known = {id_: texts[id_] for id_ in (link.source, link.target) if id_ in texts}
    return {**output.plain(link, _LINK), "texts": dict(known)}


def _links_line(link: Link, memory_id: str, texts: Mapping[str, str]) -> str:
    arrow, other = ("->", link.target) if link.source == memory_id else ("<-", link.source)
    return f"{arrow} {_kind(link)}  {_named(other, texts)}"


def _named(id_: str, texts: Mapping[str, str]) -> str:
    return f"{id_}  {output.one_line(texts.get(id_, ''), _WORDS)}".rstrip()


def _kind(link: Link) -> str:
    return link.type if link.similarity is None else f"{link.type} {link.similarity:.2f}"


LINKS = Command(
    "memory-mesh graph links mem_1767225600000_0a1b2c --hops 2",
    (
        cli_options.add_any_id,
        adding(cli_options.add_operation, MemoryMesh.graph.traverse, _OF_LINKS, ("include",)),
        argument(
            "--to",
            metavar="ID",
            help=f"show a shortest way to this memory, {MOST_HOPS} steps at most",
        ),
    ),
    _run_links,
)


# clusters

_IDS = 3  # ids of a cluster that its line shows


def _run_clusters(options: argparse.Namespace) -> int:
    """Prints groups of memories that links hold together, largest first."""
    said = cli_options.given(options, MemoryMesh.graph.clusters)
    with cli_options.opened(options) as (mesh, reader):
        found = mesh.graph.clusters(options.min_size, scope=reader, **said)
    none = "[MemoryMesh] no clusters. Links to similar memories are made by: memory-mesh upkeep"
    return output.answer(
        [output.plain(cluster, "label terms size links ids") for cluster in found],
        *(map(_clusters_line, found) if found else [none]),
        as_json=options.json,
        remark="not all links or clusters were looked at; raise --limit" if found.cut else "",
    )


def _clusters_line(cluster: Cluster) -> str:
    more = f" and {cluster.size - _IDS} more" if cluster.size > _IDS else ""
    label = output.one_line(cluster.label, 60)
    return f"{cluster.size:>4}  {label}\n      {', '.join(cluster.ids[:_IDS])}{more}"


CLUSTERS = Command(
    "memory-mesh graph clusters --min-size 3",
    (
        argument(
            "--min-size", metavar="N", type=int, default=2, help="the fewest memories; default 2"
        ),
        adding(
            cli_options.add_operation,
            MemoryMesh.graph.clusters,
            {"limit": {"default": 20, "help": "the most clusters (default: 20)"}},
            ("include", "types"),
        ),
    ),
    _run_clusters,
)


# graph

_FORMATS = ("mermaid", "svg")

_MOST = 200  # memories in one picture; more of them nobody can read

_HIDDEN = (Status.SUPERSEDED, Status.ARCHIVED, Status.QUARANTINED, Status.DISPUTED)


def _run_graph(options: argparse.Namespace) -> int:
    """Prints the picture, or writes it to a file."""
    _check(options)
    with cli_options.opened(options) as (mesh, reader):
        around = _read(mesh, reader, options)
    if options.json and not options.output:
        return output.answer(_graph_plain(around), as_json=True)
    drawn = _drawn(around, _format(options), chain=options.chain)
    if not options.output:
        return output.answer(None, drawn.removesuffix("\n"), as_json=False)
    return _write(around, drawn, options)


def _check(options: argparse.Namespace) -> None:
    """Refuses options that contradict each other, before anything is read."""
    if options.chain and (options.hops, options.limit, options.include) != (None, None, None):
        raise UsageError("--chain draws all that superseded each other; it takes no --hops, "
                         "--limit or --include")  # fmt: skip
    if options.limit is not None and not 1 <= options.limit <= _MOST:
        raise UsageError(f"--limit takes 1 to {_MOST}: a picture with more cannot be read")


def _read(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> Neighbourhood:
    """Returns what is drawn."""
    id_ = cli_options.any_id(options, "graph")
    with cli_options.looked_up(id_, reader, mesh):
        if options.chain:
            return _shortened(mesh.graph.supersessions(id_, scope=reader))
        said = cli_options.given(options, MemoryMesh.graph.neighbourhood)
        try:
            return mesh.graph.neighbourhood(id_, scope=reader, **said)
        except NotFound:
            versions = mesh.history(id_, scope=reader)
            if not versions or (status := versions[-1].status) not in _HIDDEN:
                raise
            raise UsageError(
                f"{id_} is {status} and is drawn only if you ask for it: memory-mesh graph {id_} "
                f"--include {status}. To see what superseded what: memory-mesh graph {id_} --chain"
            ) from None


def _shortened(chain: Neighbourhood) -> Neighbourhood:
    """Returns the part of a chain around the asked memory that can be read."""
    ids = [memory.id for memory in chain.memories]
    first = max(0, min(ids.index(chain.center) - _MOST // 2, len(ids) - _MOST))
    kept = chain.memories[first : first + _MOST]
    return replace(chain, memories=kept, more=chain.more + len(ids) - len(kept))


def _format(options: argparse.Namespace) -> str:
    if options.format is not None:
        return str(options.format)
    return "svg" if (options.output or "").lower().endswith(".svg") else "mermaid"


def _drawn(around: Neighbourhood, format_: str, *, chain: bool) -> str:
    if format_ == "svg":
        from memory_mesh.formats.svg import chain_svg, graph_svg

        return chain_svg(around) if chain else graph_svg(around)
    from memory_mesh.formats.mermaid import chain_mermaid, graph_mermaid

    return chain_mermaid(around) if chain else graph_mermaid(around)


def _write(around: Neighbourhood, drawn: str, options: argparse.Namespace) -> int:
    path = Path(options.output).expanduser()
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no folder {path.parent}; make it first, or give another --output"
        )
    write_atomically(path, drawn.encode())
    drew = f"Drew {output.counted(len(around.memories), 'memory')}"
    told = f"[MemoryMesh] {drew} to {output.named(path)}."
    if around.more:
        told += f" {around.more} more within reach are not drawn (--limit, at most {_MOST})."
    return output.answer(
        {**_graph_plain(around), "path": output.named(path)}, told, as_json=options.json
    )


def _graph_plain(around: Neighbourhood) -> dict[str, Json]:
    return {
        "center": around.center,
        "memories": [
            output.plain(memory, "id status kind created_at content") for memory in around.memories
        ],
        "links": [output.plain(link, _LINK) for link in around.links],
        "more": around.more,
    }


GRAPH = Command(
    "memory-mesh graph mem_1767225600000_0a1b2c --output around.svg",
    (
        cli_options.add_any_id,
        argument(
            "--format",
            choices=_FORMATS,
            help="mermaid: text that GitHub and editors draw (default); svg: a picture for "
            "browsers, the default for an --output that ends in .svg",
        ),
        adding(
            cli_options.add_operation,
            MemoryMesh.graph.neighbourhood,
            {"include": {"choices": [each.value for each in _HIDDEN]}},
        ),
        argument(
            "--chain",
            action="store_true",
            help="draw what it superseded and what superseded it, instead of its links",
        ),
        argument("--output", metavar="FILE", help="write the picture to this file"),
    ),
    _run_graph,
)


# episode

_ACTIONS = ("list", "show", "summary", "create", "add", "remove")


def _run_episode(options: argparse.Namespace) -> int:
    """Lists, shows or changes episodes."""
    action, words = options.action, options.words
    if action != "list" and not words:
        what = "a title" if action == "create" else "the id of an episode"
        raise UsageError(f"name {what}: memory-mesh episode {action} …")
    with cli_options.opened(options, meaning=bool(words) and action == "list") as (mesh, reader):
        if action == "list":
            query = " ".join(words) or None
            said = cli_options.given(options, MemoryMesh.graph.episodes)
            found = mesh.graph.episodes(query=query, scope=reader, **said)
            none = "[MemoryMesh] no episodes. Make one: memory-mesh episode create TITLE"
            return output.answer(
                [_episode_plain(episode) for episode in found],
                *(map(_episode_line, found) if found else [none]),
                as_json=options.json,
            )
        try:
            found_one = _done(mesh, reader, options)
        except NotFound:
            named = words if action != "create" else words[1:]
            missing = next((id_ for id_ in named if not mesh.history(id_, scope=reader)), None)
            raise cli_options.missing(missing or " or ".join(named), reader, mesh) from None
    if action == "create" and not found_one.memories and not options.json:
        more = f"memory-mesh episode add {found_one.id} MEMORY_ID"
        output.tell([f"the episode has no memories: none is of that time; add some with: {more}"])
    return output.answer(
        _episode_plain(found_one, whole=True), *_lines(found_one), as_json=options.json
    )


def _done(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> Episode:
    first, ids = options.words[0], options.words[1:]
    match options.action:
        case "create":
            own = Scope(reader.project, None, reader.session)
            said = cli_options.given(options, MemoryMesh.graph.create_episode)
            said["session"] = options.of_session
            return mesh.graph.create_episode(first, ids=ids, scope=own, **said)
        case "add":
            return mesh.graph.add_to_episode(first, ids, scope=reader)
        case "remove":
            return mesh.graph.remove_from_episode(first, ids, scope=reader)
        case "summary":
            said = cli_options.given(options, MemoryMesh.graph.summarise_episode)
            return mesh.graph.summarise_episode(first, scope=reader, **said)
        case _:
            return mesh.graph.episode(first, scope=reader)


def _episode_line(episode: Episode) -> str:
    title = output.one_line(episode.title, 60)
    count = output.counted(len(episode.memories) + episode.more, "memory")
    return f"{episode.id}  {title}  ({count}{_when(episode)})"


def _lines(episode: Episode) -> list[str]:
    members = [
        f"  {_day(memory.occurred_at or memory.created)}  {memory.id}  "
        f"{output.one_line(memory.text, 70)}"
        for memory in episode.memories
    ]
    return [_episode_line(episode), *([episode.summary] if episode.summary else members)]


def _when(episode: Episode) -> str:
    if episode.started is None or episode.ended is None:
        return ""
    first, last = _day(episode.started), _day(episode.ended)
    return f", {first}" if first == last else f", {first} to {last}"


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _episode_plain(episode: Episode, *, whole: bool = False) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "id": episode.id,
        "title": episode.title,
        "started": None if episode.started is None else times.iso(episode.started),
        "ended": None if episode.ended is None else times.iso(episode.ended),
        "ids": list(episode.ids),
        "more": episode.more,
    }
    if whole:
        plain["memories"] = [output.described(memory) for memory in episode.memories]
        plain["summary"] = episode.summary
    return plain


EPISODE = Command(
    "memory-mesh graph episode create 'Trip to Rome' --since 2026-05-01 --until 2026-05-08",
    (
        argument(
            "action",
            nargs="?",
            choices=_ACTIONS,
            default="list",
            help="list episodes, show or summarise one, create one, add or remove memories",
        ),
        argument(
            "words",
            nargs="*",
            metavar="WORD",
            help="list: words of the title; create: the title, then ids; else the id, then ids",
        ),
        adding(
            cli_options.add_operation, MemoryMesh.graph.create_episode, hidden=("ids", "session")
        ),
        adding(cli_options.add_operation, MemoryMesh.graph.summarise_episode),
        adding(cli_options.add_operation, MemoryMesh.graph.episodes, hidden=("query",)),
        argument("--of-session", metavar="ID", help="create: memories of this session"),
    ),
    _run_episode,
)
