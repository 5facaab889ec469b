"""`memory-mesh delete`."""

import argparse

from memory_mesh.cli import options as cli_options, output
from memory_mesh.model import Proposal

EXAMPLE = "memory-mesh delete mem_1767225600000_0a1b2c"
_IN_AN_AGENTS_SHELL = """\
In an agent's shell, what the user stored is not deleted: the delete is proposed,
and the memory stays until a person decides (memory-mesh review --id ID --approve).
If you type there yourself, take the agent's variable away, for example:
  env -u CLAUDECODE memory-mesh delete --id ID"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{parser.description or ''}\n\n{_IN_AN_AGENTS_SHELL}".strip()
    cli_options.add_id(parser)
    parser.add_argument(
        "--propose", action="store_true", help="ask a person to decide; delete nothing yet"
    )
    parser.add_argument("--reason", metavar="TEXT", help="the reason, stored in the audit block")


def run(options: argparse.Namespace) -> int:
    """Hides the memory; it can be restored for 30 days.

    In an agent's shell the delete of what the user stored is a proposal.
    """
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        asked: Proposal | None
        if options.propose:
            reason = options.reason or "proposed by the caller"
            asked = mesh.propose_delete(options.id, reader=reader, reason=reason)
        else:
            reason = options.reason or "deleted by the caller"
            asked = mesh.delete(options.id, scope=reader, reason=reason)
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
