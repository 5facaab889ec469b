"""`memory-mesh search`."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from memory_mesh.base.installed import install_command
from memory_mesh.base.typed import Any, TypeAlias
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, adding, argument
from memory_mesh.formats import rfc11
from memory_mesh.model import Hits, Json, record
from memory_mesh.model.query import MetadataKey
from memory_mesh.model.stats import OUTGROWN
from memory_mesh.rules.arguments import near
from memory_mesh.rules.filter_fields import FIELDS
from memory_mesh.sync import MemoryMesh

View: TypeAlias = dict[str, Any]  # the arguments of a search
_NO_MODEL = "Found by words only: no model is installed. To search by meaning, too: {}"


_SAID: dict[str, dict[str, Any]] = {  # of options of `search` in other words
    "min_relevance": {
        "help": "the score that the best hit must reach, others 0.15 of it (default: 0.08)"
    },
    "rerank": {
        "action": argparse.BooleanOptionalAction,
        "help": "order the best hits by the configured reranker; default: if there is one",
    },
}
_NOT_OFFERED = {"profile", "min_similarity", "record"}


def _run_search(options: argparse.Namespace) -> int:
    """Prints the best memories: for a person, or in the format of RFC-0011 9.2."""
    with cli_options.mesh_of(options, meaning=not options.keyword_only) as mesh:
        view = cli_options.view_of(options, mesh, MemoryMesh.search)
        words = " ".join(options.query)
        also = cli_options.also_of(options, mesh, view["scope"])
        hits = None if also else _by_daemon(mesh, words, options, view)
        if hits is None:
            hits = mesh.search(words, also=also, **view)
        told = _told(mesh, hits, options, view)
        elsewhere = [] if hits else cli_options.elsewhere(mesh, view)
    if waiting := hits.explanation.pending:
        are = (
            "has no vector yet and is found by its"
            if waiting == 1
            else ("have no vector yet and are found by their")
        )
        texts = output.counted(waiting, "text")
        output.note(f"[MemoryMesh] {texts} {are} words only; run `memory-mesh upkeep`.")
    if not hits and hits.explanation.below:
        output.tell([f"nothing relevant (best {hits.explanation.best_below:.2g}); --all shows it"])
    output.tell(elsewhere)
    if options.json:
        _print_json(hits, options)
        return 0
    if output.on_terminal() and not options.prompt:
        return _for_person(hits, options, told)
    output.say(f"[MemoryMesh] Found {len(hits)} matches.\n\n{rfc11.results(hits)}")
    output.tell(f"{hit.id} seems to be updated by {hit.newer}" for hit in hits if hit.newer)
    output.tell(
        f"{hit.id} conflicts with {hit.conflict}: memory-mesh conflicts"
        for hit in hits
        if hit.conflict
    )
    output.tell(_origins(hits))
    if options.explain:
        output.say(f"\n{_explanation(hits)}")
    _hints(hits, told)
    return 0


def _by_daemon(
    mesh: MemoryMesh, words: str, options: argparse.Namespace, view: View
) -> Hits | None:
    """What a daemon finds that runs and has the model loaded; None if this process shall search."""
    if options.keyword_only or options.store or mesh.config.embedder == "none":
        return None
    from memory_mesh.agents import searches  # loads more than a search by words

    return searches.ask(mesh, words, view)


def _told(mesh: MemoryMesh, hits: Hits, options: argparse.Namespace, view: View) -> list[str]:
    """Why nothing was found, or found by words only, for a person at a terminal."""
    if options.json or not output.at_terminal():
        return []
    told: list[str] = []
    if not hits and not hits.explanation.below:
        told = [output.completed(line, options) for line in reasons(mesh, options, view)]
    wanted = mesh.config.embedder != "none" and not options.keyword_only
    if not told and wanted and hits.explanation.space is None:
        told = [_NO_MODEL.format(install_command("local"))]
    return told


def _for_person(hits: Hits, options: argparse.Namespace, told: list[str]) -> int:
    """Prints the hits as a person reads them."""
    from memory_mesh.cli import found

    for line in found.lines(hits, options.user, datetime.now(UTC)):
        print(line)
    if not hits and not hits.explanation.below:
        output.say("Nothing was found.")
    if options.explain:
        output.say(f"\n{_explanation(hits)}")
    _hints(hits, told, apart=True)
    return 0


def _hints(hits: Hits, told: list[str], *, apart: bool = False) -> None:
    """Prints what could help, on a terminal only."""
    hints = list(told)
    if hits and hits.explanation.below:
        hints.insert(
            0,
            f"{hits.explanation.below} less relevant left out (best "
            f"{hits.explanation.best_below:.2g}); --all shows them",
        )
    if hits.explanation.to_reindex:
        hints.insert(0, output.reindex_hint(hits.explanation.to_reindex))
    if hints and apart:
        hints.insert(0, "")
    for line in hints:
        output.hint(line)


def _origins(hits: Hits) -> list[str]:
    """Says which hits came from which view, where several were asked."""
    ids: dict[str, list[str]] = {}
    for hit in hits:
        if hit.view is not None:
            ids.setdefault(str(hit.view), []).append(hit.id)
    return [f"from {view}: {', '.join(found)}" for view, found in ids.items()]


def _print_json(hits: Hits, options: argparse.Namespace) -> None:
    """Prints the hits; to be explained, with the explanation beside them."""
    found: dict[str, Json] = {
        "items": [
            {
                **record.record(hit),
                "project": hit.memory.scope.project,
                "user": options.user if hit.view is None else hit.view.user,
                "source_ref": hit.memory.source.ref,
            }
            for hit in hits
        ]
    }
    if options.explain:
        found["explanation"] = record.explanation_json(hits.explanation)
    output.say_json(found)


def _explanation(hits: Hits) -> str:
    how = hits.explanation
    lines = [
        "[EXPLANATION]",
        f"Profile: {how.profile} | Space: {how.space or 'none'}",
        f"Found by keyword: {how.found_by_keyword} | By meaning: {how.found_by_vector}",
        f"Without a vector: {how.pending}",
    ]
    lines += [f"Reranked: {how.reranked}"] if how.reranked else []
    lines += [f"Read as: {term} -> {', '.join(others)}" for term, others in how.read_as.items()]
    lines += [f"Below the threshold: {how.below} | Best: {how.best_below:.4g}"] if how.below else []
    lines += [f"Note: {output.reindex_hint(how.to_reindex)}"] if how.to_reindex else []
    lines += [f"Note: {OUTGROWN}."] if how.outgrown else []
    lines += [f"Note: {how.note}"] if how.note else []
    for number, hit in enumerate(hits, start=1):
        parts = ", ".join(f"{name} {part:.4g}" for name, part in hit.parts.items())
        lines.append(f"--- MEMORY {number}: score {hit.score:.4g}; {parts}")
    return "\n".join(lines)


SEARCH = Command(
    'memory-mesh search "dark themes" --limit 5',
    (
        argument(
            "query", nargs="+", metavar="WORDS", help="the words or the question to search for"
        ),
        adding(cli_options.add_view, MemoryMesh.search, _SAID, _NOT_OFFERED),
        cli_options.add_also,
        argument(
            "--all",
            action="store_const",
            const=0.0,
            dest="min_relevance",
            help="show everything that was found, however little it has to do with the question",
        ),
        argument("--explain", action="store_true", help="print the parts of each score"),
        argument(
            "--prompt", action="store_true", help="on a terminal, too, print the text for a prompt"
        ),
    ),
    _run_search,
)


# Why a search found nothing, for a person at a terminal; loaded only then.


def reasons(mesh: MemoryMesh, options: argparse.Namespace, view: View) -> list[str]:
    """The most likely reason, and what to do about it; empty if none is known."""
    if mesh.config.store is None and not (mesh.config.db_dir / "namespaces").is_dir():
        folder = output.named(mesh.config.db_dir)
        makes = "memory-mesh store makes one there"
        other = "if yours is elsewhere, name it with --db-dir or MEMORY_MESH_DIR"
        return [f"There is no store in {folder} yet: {makes}; {other}."]
    if not mesh.get_all(limit=1, scope=view["scope"], across=("project", "agent", "session")):
        return [_empty(options, mesh)]
    return list(unknown_keys(mesh, options.filter, view)) if options.filter else []


def _empty(options: argparse.Namespace, mesh: MemoryMesh) -> str:
    if options.user is not None:
        whose = f"The user {output.named(options.user)} has"
    else:
        whose = f"The namespace {output.named(mesh.config.namespace)} has"
    return f"{whose} no memories here. Who has some: memory-mesh namespaces"


def unknown_keys(mesh: MemoryMesh, expression: str, view: View) -> Iterator[str]:
    """Names of the filter that are no field and that no memory has in its metadata."""
    from memory_mesh.rules.filters import parse  # for nothing else

    for name in dict.fromkeys(_keys(parse(expression))):
        there = mesh.get_all(
            limit=1, scope=view["scope"], across=view["across"],
            filter={f"metadata.{name}": {"$exists": True}},
        )  # fmt: skip
        if not there:
            meant = near(name, list(FIELDS))
            hint = (
                f"did you mean the field {meant}?"
                if meant
                else "the fields are in docs/reference/filters.md"
            )
            yield f"No memory has {output.named(name)!r} in its metadata; {hint}"


def _keys(node: object) -> Iterator[str]:
    field = getattr(node, "field", None)
    if isinstance(field, MetadataKey):
        yield field.name
    for part in (*getattr(node, "parts", ()), getattr(node, "part", None)):
        if part is not None:
            yield from _keys(part)
