"""Commands that judge memories: review, conflicts, reinforce and dispute."""

import argparse
from collections.abc import Sequence

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, about, adding, argument, one_of
from memory_mesh.formats.terminal import word
from memory_mesh.model import (
    DECISIONS,
    Conflict,
    Json,
    Memory,
    NotFound,
    Proposal,
    ProposedVerb,
    Scope,
    Skill,
    Status,
)
from memory_mesh.model.care import HELD_BACK
from memory_mesh.sync import MemoryMesh

# review

_MAX_RESULTS = 1_000  # results of one call

_COLUMNS = 100
_PLACEHOLDER = "PROJECT"  # as `salvage` prints it


def _run_review(options: argparse.Namespace) -> int:
    """Lists what waits for review, shows one item in full, or approves or rejects it."""
    if options.named is not None and options.id is not None:
        raise UsageError("give the ID once. See: memory-mesh review --help")
    options.id = options.named or options.id
    if options.id is not None and options.id.startswith("conflict_"):
        raise UsageError(f"{options.id} is a conflict; decide it with: {_resolving(options.id)}")
    decided = options.approve or options.reject
    if bool(options.id) == bool(options.source) and (decided or options.source):
        raise UsageError("give either --id ID or --source NAME. See: memory-mesh review --help")
    if options.source and not decided:
        raise UsageError("give --approve or --reject. See: memory-mesh review --help")
    if options.give_to is not None and not (options.id and options.approve):
        raise UsageError("give --give-to with --id and --approve. See: memory-mesh review --help")
    with cli_options.opened(options) as (mesh, reader):
        if options.source:
            return _decide_all(mesh, reader, options)
        if options.undo:
            return _undo(mesh, reader, options)
        if options.id and not decided:
            return _show(mesh, reader, options)
        if options.id:
            return _decide(mesh, reader, options)
        return _worth(mesh, reader, options) if options.worth else _list(mesh, reader, options)


def _list(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """Lists what waits for review, and says what else there is to decide."""
    said = cli_options.given(options, MemoryMesh.review.waiting)
    waiting = mesh.review.waiting(scope=reader, **said)
    said |= {"limit": _MAX_RESULTS}
    open_ = len(mesh.review.conflicts(pending=True, scope=reader, **said))
    dear = len(mesh.review.worth(scope=reader, **said))
    beside = f"; {output.counted(open_, 'conflict')}: memory-mesh conflicts" if open_ else ""
    beside += f"; {dear} told for nothing: memory-mesh review --worth" if dear else ""
    beside = beside or "."
    return output.answer(
        [_review_plain(item) for item in waiting],
        f"[MemoryMesh] {len(waiting)} wait{'s' if len(waiting) == 1 else ''} for review"
        + output.completed(beside, options),
        *map(_line, waiting),
        as_json=options.json,
    )


def _worth(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """Lists what cost tokens for nothing, with its counts."""
    said = cli_options.given(options, MemoryMesh.review.waiting)
    found = mesh.review.worth(scope=reader, **said)
    lines = (f"{one.memory.id}  {output.one_line(one.memory.text, _COLUMNS)}\n    {one}"
             for one in found)  # fmt: skip
    return output.answer(
        [
            output.plain(one, "memory told tokens corrected last for_nothing")
            | {"helpful": one.memory.helpful, "harmful": one.memory.harmful}
            for one in found
        ],
        f"[MemoryMesh] {output.counted(len(found), 'memory')} cost tokens for nothing.",
        *lines,
        as_json=options.json,
        remark="To take one away: memory-mesh delete ID; to keep it: memory-mesh rate ID --helpful",
    )


def _decide_all(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """Approves or rejects everything from one source that waits for review."""
    said = cli_options.given(options, MemoryMesh.review.decide_source)
    done = mesh.review.decide_source(options.source, approve=options.approve, scope=reader, **said)
    if not done:
        waiting = mesh.review.waiting(scope=reader, limit=_MAX_RESULTS)
        memories = [item for item in waiting if isinstance(item, Memory)]
        names = {name for one in memories for name in (one.source.ref, one.source.agent) if name}
        known = f"what waits is from: {output.some(sorted(names))}" if names else "no source waits"
        raise NotFound(f"nothing from {output.named(options.source)} waits for review; {known}")
    return output.answer(
        [_state(memory) for memory in done],
        f"[MemoryMesh] {_verdict(options)} {len(done)} from {output.named(options.source)}.",
        as_json=options.json,
    )


def _undoable(mesh: MemoryMesh, reader: Scope) -> str:
    """What can be undone, newest first, and how."""
    conflicts = mesh.review.conflicts(decided=True, scope=reader)
    ids = [each.new for each in conflicts if not each.pending]
    ids += [
        each.id for each in mesh.review.proposals(pending=False, scope=reader) if not each.pending
    ]
    known = f"; decided were: {output.some([*dict.fromkeys(ids)])}" if ids else ""
    return (
        f"say whose decision to undo: memory-mesh review undo ID{known}. A deleted memory comes "
        "back with: memory-mesh restore ID"
    )


def _undo(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    if options.id is None:
        raise UsageError(_undoable(mesh, reader))
    decided = mesh.review.conflicts(decided=True, scope=reader)
    memory = mesh.review.undo(options.id, scope=reader)
    if isinstance(memory, Proposal):
        done = f"[MemoryMesh] {memory.id} waits for review again; {memory.memory} is as before"
        return output.answer(output.described_proposal(memory), done, as_json=options.json)
    waits = memory.status in {Status.QUARANTINED, Status.DISPUTED}
    what = "waits for review again, now" if waits else "is kept, and so is the other; it is"
    done = f"[MemoryMesh] {memory.id} {what} {memory.status.value}"
    undone = (
        f"Undone: {each.resolution} of {each.existing} by {each.new}, {each.reason}"
        for each in decided
        if memory.id in (each.new, each.existing)
    )
    return output.answer(_state(memory), done, *undone, as_json=options.json)


def _show(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    """Prints one item in full, because a listing cuts texts off."""
    said = cli_options.given(options, MemoryMesh.review.waiting) | {"limit": _MAX_RESULTS}
    waiting = mesh.review.waiting(scope=reader, **said)
    item = next((item for item in waiting if item.id == options.id), None)
    if item is None:
        raise NotFound(f"{options.id} does not wait for review. List what does: memory-mesh review")
    return output.answer(
        _review_plain(item),
        *(_compared(mesh, item, reader) if isinstance(item, Proposal) else [item.text]),
        as_json=options.json,
        remark=f"To decide: memory-mesh review --id {item.id} --approve, or --reject",
    )


def _decide(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    if options.give_to is not None:
        reader, restored = _given(mesh, reader, options)
        if restored is not None:
            done = f"[MemoryMesh] Restored {restored.id}, now {restored.status.value}"
            return output.answer(_state(restored), done, as_json=options.json)
    said = cli_options.given(options, MemoryMesh.review.decide)
    after = mesh.review(options.id, approve=options.approve, scope=reader, **said)
    if isinstance(after, Proposal):
        done = f"[MemoryMesh] {_verdict(options)} {after.id}; {_effect(after)}"
        return output.answer(output.described_proposal(after), done, as_json=options.json)
    done = f"[MemoryMesh] {_verdict(options)} {after.id}, now {after.status.value}"
    return output.answer(_state(after), done, as_json=options.json)


def _given(
    mesh: MemoryMesh, reader: Scope, options: argparse.Namespace
) -> tuple[Scope, Memory | None]:
    """Changes for whom a memory that `salvage` held back is.

    Returns a reader who may decide on it now, and the memory if it was a deleted one, which is
    restored and decided on with that. A call that was interrupted can be repeated.
    """
    if reader.project != HELD_BACK:
        raise UsageError(
            f"--give-to is for what salvage held back: add --project {HELD_BACK}, or change the "
            "audience with update(id, scope=…) of the library"
        )
    if options.give_to == _PLACEHOLDER:
        raise UsageError(
            f"put the name of a project in the place of {_PLACEHOLDER}, or '' for everybody in "
            "the namespace"
        )
    cli_options.refuse_agent("review --give-to")
    to, restored = Scope(project=options.give_to or None), None
    held = mesh.history(options.id, scope=reader)[-1:]
    is_held = [each.recorded_until for each in held] == [None]  # else it was given before
    if is_held and held[0].status is Status.DELETED:
        restored = mesh.restore(options.id, scope=reader)
    if is_held:
        given = "given to its audience after salvage"
        mesh.update(options.id, reader=reader, scope=to, reason=given)
    return to, restored


def _verdict(options: argparse.Namespace) -> str:
    return "Approved" if options.approve else "Rejected"


def _effect(asked: Proposal) -> str:
    """Says what became of the memory."""
    if not asked.approved:
        return f"{asked.memory} is unchanged"
    return f"{asked.memory} is {'updated' if asked.verb is ProposedVerb.UPDATE else 'deleted'}"


def _compared(mesh: MemoryMesh, asked: Proposal, reader: Scope) -> Sequence[str]:
    """Shows a proposal beside the memory as it is now."""
    versions = mesh.history(asked.memory, scope=reader)
    since = bool(versions) and versions[-1].recorded_from > asked.created
    source = asked.source.ref or asked.source.agent or asked.source.channel.value
    shown = {
        "proposed": f"{asked.verb.value} of {asked.memory}",
        "by": f"{source} ({asked.source.kind.value})",
        "reason": asked.reason,
        "now": (versions[-1].text if versions else "")
        + (" (changed since it was proposed)" if since else ""),
        **{f"new {name}": str(value) for name, value in asked.change.items()},
    }
    return output.pairs({name: output.unbroken(said) for name, said in shown.items()})


def _line(item: Memory | Skill | Proposal) -> str:
    if isinstance(item, Proposal):
        return _proposal_lines(item)
    text = item.text if isinstance(item, Memory) else f"{item.name}: {item.intent}"
    return f"{item.id}  {output.one_line(text, 80)}"


def _proposal_lines(asked: Proposal) -> str:
    """Returns the new text, cut off, and the name of every other field that would change."""
    text, fields = asked.change.get("content"), ", ".join(_changed(asked))
    if text is None:
        said = f"{asked.verb} of {asked.memory}: {fields or output.one_line(asked.reason, 80)}"
        return f"{asked.id}  {said}"
    line = output.one_line(f"{asked.verb} of {asked.memory}: {text}", 80)
    return f"{asked.id}  {line}" + (f"\n    also: {fields}" if fields else "")


def _changed(asked: Proposal) -> list[str]:
    """Returns the fields that a proposal changes beside the text; metadata by each name."""
    fields = [name for name in asked.change if name not in {"content", "metadata", "merge"}]
    metadata = asked.change.get("metadata")
    if isinstance(metadata, dict):
        fields += [f"metadata {word(output.named(name))}" for name in metadata]
    if metadata is not None and not asked.change.get("merge", True):
        fields.append("all other metadata is removed")
    return fields


def _state(item: Memory | Skill) -> dict[str, Json]:
    return {"id": item.id, "status": item.status.value}


def _review_plain(item: Memory | Skill | Proposal) -> dict[str, Json]:
    if isinstance(item, Proposal):
        return output.described_proposal(item)
    return output.described_skill(item) if isinstance(item, Skill) else output.described(item)


REVIEW = Command(
    'memory-mesh review --id mem_1767225600000_0a1b2c --approve --reason "checked"',
    (
        argument(
            "named",
            nargs="?",
            metavar="ID",
            help="the memory, skill or proposal to show, approve or reject; default: list all",
        ),
        argument("--id", metavar="ID", help="the same, as an option"),
        one_of(
            argument(
                "--approve", action="store_true", help="make it active, or make the proposed change"
            ),
            argument(
                "--reject",
                action="store_true",
                help="archive a memory and refuse its value in future, or leave out a proposed "
                "change",
            ),
            argument("--undo", action="store_true", help="undo the last review or decision"),
            argument(
                "--worth", action="store_true", help="list memories that cost tokens for nothing"
            ),
        ),
        argument(
            "--source", metavar="NAME", help="everything from this source that waits for review"
        ),
        argument(
            "--give-to",
            metavar="PROJECT",
            help="with --approve: the project it is for, '' for all; for what `salvage` held back",
        ),
        adding(cli_options.add_operation, MemoryMesh.review.decide, hidden=("approve",)),
        adding(cli_options.add_operation, MemoryMesh.review.waiting),
    ),
    _run_review,
)


# conflicts

_CONFLICT = (  # its fields, as JSON has them
    "id new existing new_trust existing_trust reason created_at resolution why"
)


def _run_conflicts(options: argparse.Namespace) -> int:
    """Lists conflicts, or resolves one."""
    options.id = options.named or options.id
    if bool(options.id) != bool(options.resolve):
        raise UsageError(f"say which conflict, and how it ends: {_resolving(options.id or 'ID')}")
    if options.pending and options.decided:
        raise UsageError("--pending and --all exclude each other; give one of them")
    with cli_options.opened(options) as (mesh, reader):
        if options.id:
            return _resolve(mesh, reader, options)
        found = mesh.review.conflicts(
            scope=reader, **cli_options.given(options, MemoryMesh.review.conflicts)
        )
        told = [] if options.json else [_lines(mesh, reader, conflict) for conflict in found]
    return output.answer(
        [output.plain(conflict, _CONFLICT) for conflict in found],
        f"[MemoryMesh] {output.counted(len(found), 'conflict')}.",
        *told,
        *[
            output.completed(f"To decide: {_resolving(each.id)}", options)
            for each in found
            if each.pending
        ][:1],
        as_json=options.json,
    )


def _resolving(conflict_id: str) -> str:
    """The command that resolves a conflict."""
    return (
        f"memory-mesh conflicts {conflict_id} --resolve supersede (the new one holds), reject (the "
        "known one holds) or keep_both"
    )


def _resolve(mesh: MemoryMesh, reader: Scope, options: argparse.Namespace) -> int:
    said = cli_options.given(options, MemoryMesh.review.resolve)
    done = mesh.review.resolve(options.id, options.resolve, scope=reader, **said)
    resolved = f"[MemoryMesh] Resolved {done.id}: {done.resolution}"
    return output.answer(output.plain(done, _CONFLICT), resolved, as_json=options.json)


def _lines(mesh: MemoryMesh, reader: Scope, conflict: Conflict) -> str:
    state = conflict.resolution or "pending"
    lines = [f"{conflict.id}  {state}  {output.one_line(conflict.reason, 90)}"]
    for what, id_, trust in (
        ("new", conflict.new, conflict.new_trust),
        ("known", conflict.existing, conflict.existing_trust),
    ):
        texts = [version.text for version in mesh.history(id_, scope=reader)[-1:]]
        said = "".join(f": {output.one_line(text, 80)}" for text in texts)
        lines.append(f"  {what} {id_} ({trust:.2f}){said}")
    return "\n".join(lines)


CONFLICTS = Command(
    "memory-mesh review conflicts --id conflict_1767225600000_0a1b2c --resolve keep_both",
    (
        adding(
            cli_options.add_operation, MemoryMesh.review.conflicts, {"decided": {"flag": "--all"}}
        ),
        argument("named", nargs="?", metavar="ID", help="the conflict to resolve"),
        argument("--id", metavar="ID", help="the same, as an option"),
        argument(
            "--resolve",
            choices=[each.value for each in DECISIONS],
            help="supersede: the new memory replaces the old; reject: archive the new one; "
            "keep_both",
        ),
        adding(cli_options.add_operation, MemoryMesh.review.resolve),
    ),
    _run_conflicts,
)


# reinforce


def _voted(options: argparse.Namespace, *, holds: bool) -> int:
    """Counts one vote that a memory is true or false, and says what that has led to."""
    with (
        cli_options.opened(options) as (mesh, reader),
        cli_options.looked_up(options.id, reader, mesh),
    ):
        if holds:
            memory = mesh.review.reinforce(options.id, options.boost, scope=reader)
        else:
            said = cli_options.given(options, MemoryMesh.review.dispute)
            memory = mesh.review.dispute(options.id, scope=reader, **said)
        trust = mesh.review.trust(options.id, scope=reader)
    done = f"[MemoryMesh] {'Reinforced' if holds else 'Disputed'} record {memory.id}, trust now "
    state = "" if holds else f", {memory.status.value}"
    return output.answer(
        {
            "id": memory.id,
            "status": memory.status.value,
            **output.plain(memory, "reinforcements disputes importance"),
            "trust": trust,
        },
        f"{done}{trust:.2f}{state}",
        as_json=options.json,
    )


REINFORCE = Command(
    "memory-mesh review reinforce mem_1767225600000_0a1b2c",
    (
        cli_options.add_id,
        argument(
            "--boost",
            type=float,
            default=0.1,
            metavar="0..1",
            help="how much to raise its importance (default: 0.1)",
        ),
    ),
    lambda options: _voted(options, holds=True),
)


# dispute


DISPUTE = Command(
    'memory-mesh review dispute mem_1767225600000_0a1b2c --reason "the office has moved"',
    (cli_options.add_id, adding(cli_options.add_operation, MemoryMesh.review.dispute)),
    lambda options: _voted(options, holds=False),
)


# check

_STALE = ("drifted", "orphaned")
_SAID = {
    "moved": "the code is somewhere else now",
    "drifted": "the code changed",
    "orphaned": "the code is gone",
}


def _run_check(options: argparse.Namespace) -> int:
    """Prints what moved, changed or is gone; exit status 1 if something changed or is gone."""
    with cli_options.opened(options) as (mesh, reader):
        found = mesh.review.check(against=options.against, fix=options.fix, scope=reader)
        unchecked = _unchecked(mesh, reader)
    stale = sum(one.verdict in _STALE for one in found)
    if options.json:
        counts = {name: sum(one.verdict == name for one in found) for name in _SAID}
        output.say_json({"memories": [one.as_json() for one in found], **counts})
        return int(stale > 0)
    for one in found:
        output.say(f"{one.verdict}: {_SAID[one.verdict]}  {one.id}")
        output.say(f"  {output.one_line(output.unbroken(one.content), 100)}")
        for place in one.places:
            output.say(f"  {_place(place)}")
        if one.rejected:
            verb = "delete" if one.verdict == "orphaned" else "update"
            output.say(
                f"  you rejected the {verb} ({one.proposal}); edit or delete the memory: "
                f"memory-mesh update {one.id}, memory-mesh delete {one.id}"
            )
        elif one.proposal is not None:
            output.say(f"  waits for review: {one.proposal}")
    if found and not options.fix:
        output.hint("To follow what moved and put the rest up for review: memory-mesh check --fix")
    if said := _summary(unchecked, is_found=bool(found)):
        output.note(f"[MemoryMesh] {said}")
    return int(stale > 0)


def _summary(unchecked: int, *, is_found: bool) -> str:
    """The last line: that all is well, and how many memories nothing could be said of."""
    from memory_mesh.evidence.work_tree import WorkTree  # one command needs it

    if not is_found and WorkTree.at(".") is None:
        return "This folder is in no repository; nothing was checked."
    if not unchecked:
        return "" if is_found else "All cited code is where it was."
    some = "1 memory cites" if unchecked == 1 else f"{unchecked} memories cite"
    said = "" if is_found else "All cited code that can be checked is where it was. "
    return f"{said}{some} what was not there when it was cited: unchecked."


def _unchecked(mesh: MemoryMesh, reader: Scope) -> int:
    """How many memories cite something that was not there."""
    from memory_mesh.evidence.citations import KEY, kept_in  # one command needs it

    count, cursor = 0, None
    while True:
        page = mesh.get_all(
            filter={KEY: {"$exists": True}}, limit=_MAX_RESULTS, cursor=cursor, scope=reader
        )
        count += sum(any(one.hash is None for one in kept_in(memory.extra)) for memory in page)
        cursor = page.cursor
        if cursor is None:
            return count


def _place(place: dict[str, Json]) -> str:
    """One line for a place: what became of it, where it is now, and since which commit."""
    now = f", now {place['now']}" if place["now"] else ""
    commit = f", commit {place['commit']}" if place["commit"] else ""
    return output.unbroken(f"{place['place']}: {place['verdict']}{now}{commit}")


CHECK = Command(
    "memory-mesh check --against main",
    (
        about(
            "Looks at the code that memories of this project cite (memory-mesh store … --evidence\n"
            "src/a.py#name). Exit status 1: some of it changed or is gone."
        ),
        adding(cli_options.add_operation, MemoryMesh.review.check),
    ),
    _run_check,
)
