"""Commands for skills: store, find, list, rate and prune them."""

import argparse
from pathlib import Path

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, adding, argument
from memory_mesh.cli.commands.store import FOR_ALL
from memory_mesh.model import InvalidInput, NotFound, Scope
from memory_mesh.platform.text_files import texts
from memory_mesh.sync import MemoryMesh

# ingest-skill


def _run_ingest_skill(options: argparse.Namespace) -> int:
    """Stores the skill and prints its id."""
    path = Path(options.file)
    if not path.is_file():
        raise NotFound(f"the file {path} does not exist")
    found = next(texts(path).found, None)
    if found is None:
        raise InvalidInput(f"{path} is not UTF-8 text, or it is too large")
    metadata = {"type": options.type} if options.type else None
    with cli_options.opened(options) as (mesh, reader):
        scope = Scope(None if options.for_all else reader.project, None, None)
        receipt = mesh.skills.add(found[1], metadata, str(path), scope=scope)
    if not options.json:
        output.tell(reason for reason in receipt.reasons if reason != "stored")
    return output.answer(
        {
            **output.described_skill(receipt.skill),
            "outcome": receipt.outcome,
            "reasons": list(receipt.reasons),
            "redacted": dict(receipt.redacted),
        },
        f"[MemoryMesh] Ingested skill {receipt.skill.name} ({receipt.id})",
        as_json=options.json,
    )


INGEST_SKILL = Command(
    "memory-mesh skill add --file skills/deploy.md",
    (
        argument(
            "--file",
            metavar="PATH",
            required=True,
            help="a YAMO file, or Markdown with frontmatter",
        ),
        argument("--type", metavar="TYPE", help="type of the skill, stored in its metadata"),
        FOR_ALL,
    ),
    _run_ingest_skill,
)


# search-skills


def _run_search_skills(options: argparse.Namespace) -> int:
    """Prints the matching skills, best first."""
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        said = cli_options.given(options, MemoryMesh.skills.search)
        hits = mesh.skills.search(options.query, scope=reader, **said)
    return output.answer(
        [{**output.described_skill(hit.skill), "score": hit.score} for hit in hits],
        f"[MemoryMesh] Found {output.counted(len(hits), 'skill')}.",
        *(f"{hit.score:.2f}  {output.skill_line(hit.skill)}" for hit in hits),
        as_json=options.json,
    )


SEARCH_SKILLS = Command(
    'memory-mesh skill search "deploy the service" --limit 3',
    (
        argument("query", help="what the skill should do, or `Name: …` to search by name"),
        adding(cli_options.add_operation, MemoryMesh.skills.search),
    ),
    _run_search_skills,
)


# list-skills


def _run_list_skills(options: argparse.Namespace) -> int:
    """Prints the active skills, newest first."""
    with cli_options.opened(options) as (mesh, reader):
        said = cli_options.given(options, MemoryMesh.skills.get_all)
        skills = mesh.skills.get_all(scope=reader, **said)
    return output.answer(
        [output.described_skill(skill) for skill in skills],
        f"[MemoryMesh] {output.counted(len(skills), 'skill')}.",
        *map(output.skill_line, skills),
        as_json=options.json,
    )


LIST_SKILLS = Command(
    "memory-mesh skill list --limit 20",
    (adding(cli_options.add_operation, MemoryMesh.skills.get_all, hidden=("include", "before")),),
    _run_list_skills,
)


# skill-feedback


def _run_skill_feedback(options: argparse.Namespace) -> int:
    """Records one use of the skill and prints its new reliability."""
    with cli_options.opened(options) as (mesh, reader):
        now = mesh.skills.rate(options.id, options.success == "true", scope=reader)
    return output.answer(
        {"id": now.id, "reliability": now.reliability, "use_count": now.uses},
        f"[MemoryMesh] Skill {now.id} reliability {now.before:.2f} -> {now.reliability:.2f} "
        f"after {now.uses} uses",
        as_json=options.json,
    )


SKILL_FEEDBACK = Command(
    "memory-mesh skill feedback --id skill_1767225600000_0a1b2c --success true",
    (
        argument("--id", metavar="ID", required=True, help="the skill's id"),
        argument("--success", choices=("true", "false"), required=True, help="whether it worked"),
    ),
    _run_skill_feedback,
)


# skill-prune


def _run_skill_prune(options: argparse.Namespace) -> int:
    """Archives skills with a low reliability; deletes nothing."""
    with cli_options.opened(options) as (mesh, reader):
        done = mesh.skills.prune(options.threshold, scope=reader)
    return output.answer(
        {"archived": done.archived, "kept": done.kept},
        f"[MemoryMesh] Archived {output.counted(len(done.archived), 'skill')}, kept {done.kept}.",
        *done.archived,
        as_json=options.json,
    )


SKILL_PRUNE = Command(
    "memory-mesh skill prune --threshold 0.3",
    (
        argument(
            "--threshold",
            type=float,
            default=0.3,
            metavar="0.0-1.0",
            help="archive skills with a lower reliability (default: 0.3)",
        ),
    ),
    _run_skill_prune,
)
