"""`memory-mesh episode`."""

import argparse
from datetime import datetime

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.parsing import UsageError
from memory_mesh.errors import NotFound
from memory_mesh.model import Json, Scope, record
from memory_mesh.model.graph import Episode
from memory_mesh.sync import MemoryMesh

EXAMPLE = "memory-mesh episode create 'Trip to Rome' --since 2026-05-01 --until 2026-05-08"
_ACTIONS = ("list", "show", "summary", "create", "add", "remove")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add = parser.add_argument
    add(
        "action", nargs="?", choices=_ACTIONS, default="list",
        help="list episodes, show or summarise one, create one, add or remove memories",
    )  # fmt: skip
    add(
        "words", nargs="*", metavar="WORD",
        help="list: words of the title; create: the title, then ids; else the id, then ids",
    )  # fmt: skip
    add("--since", metavar="TIME", help="create: memories of this time or later")
    add("--until", metavar="TIME", help="create: memories from before this time")
    add("--of-session", metavar="ID", help="create: memories of this session")
    add("--sentences", metavar="N", type=int, default=5, help="summary: the most sentences")
    add("--limit", metavar="N", type=int, default=20, help="list: the most episodes")


def run(options: argparse.Namespace) -> int:
    """Lists, shows or changes episodes."""
    action, words = options.action, options.words
    if action != "list" and not words:
        what = "a title" if action == "create" else "the id of an episode"
        raise UsageError(f"name {what}: memory-mesh episode {action} …")
    with cli_options.opened(options, meaning=bool(words) and action == "list") as (mesh, reader):
        if action == "list":
            query = " ".join(words) or None
            found = mesh.episodes(query=query, limit=options.limit, scope=reader)
            none = "[MemoryMesh] no episodes. Make one: memory-mesh episode create TITLE"
            return output.answer(
                [_plain(episode) for episode in found],
                *(map(_line, found) if found else [none]),
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
    return output.answer(_plain(found_one, whole=True), *_lines(found_one), as_json=options.json)


def _done(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> Episode:
    first, ids = options.words[0], options.words[1:]
    match options.action:
        case "create":
            own = Scope(reader.project, None, reader.session)
            return mesh.create_episode(
                first, ids=ids, since=options.since, until=options.until,
                session=options.of_session, scope=own,
            )  # fmt: skip
        case "add":
            return mesh.add_to_episode(first, ids, scope=reader)
        case "remove":
            return mesh.remove_from_episode(first, ids, scope=reader)
        case "summary":
            return mesh.summarise_episode(first, sentences=options.sentences, scope=reader)
        case _:
            return mesh.episode(first, scope=reader)


def _line(episode: Episode) -> str:
    title = output.one_line(episode.title, 60)
    return f"{episode.id}  {title}  ({_count(episode)}{_when(episode)})"


def _lines(episode: Episode) -> list[str]:
    members = [
        f"  {_day(memory.occurred_at or memory.created)}  {memory.id}  "
        f"{output.one_line(memory.text, 70)}"
        for memory in episode.memories
    ]
    return [_line(episode), *([episode.summary] if episode.summary else members)]


def _count(episode: Episode) -> str:
    count = len(episode.memories) + episode.more
    return "1 memory" if count == 1 else f"{count} memories"


def _when(episode: Episode) -> str:
    if episode.started is None or episode.ended is None:
        return ""
    first, last = _day(episode.started), _day(episode.ended)
    return f", {first}" if first == last else f", {first} to {last}"


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _plain(episode: Episode, *, whole: bool = False) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "id": episode.id,
        "title": episode.title,
        "started": None if episode.started is None else record.iso(episode.started),
        "ended": None if episode.ended is None else record.iso(episode.ended),
        "ids": list(episode.ids),
        "more": episode.more,
    }
    if whole:
        plain["memories"] = [output.described(memory) for memory in episode.memories]
        plain["summary"] = episode.summary
    return plain
