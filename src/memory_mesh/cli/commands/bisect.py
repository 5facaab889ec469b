"""`memory-mesh bisect`: which write made an answer wrong, asked of a person, a test or a model.

Each answer of a person or test is kept in the store's folder, by a digest of the pack: the same
command goes on where it was stopped.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memory_mesh.agents import journal
from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import dataclass, field
from memory_mesh.care import moves
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, UsageError, adding, argument
from memory_mesh.context.reasons.memory import first_words
from memory_mesh.model import Json, Memory, SourceKind, Status, StoreError
from memory_mesh.model.pack import Pack
from memory_mesh.model.why import Bisection, Culprit
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh

_SKIP = 125  # as `git bisect run` has it
_MOST_CODE = 127  # a test that cannot be run ends above this
_ANSWERS = "bisect.jsonl"
_MOST_BYTES = 256 * 1024
_COLUMNS = 100
_SAID = {
    "right_at": {"flag": "--good"},
    "wrong_at": {"flag": "--bad"},
    "prompt": {"metavar": "ID"},
}
_WHAT = {  # of a write that is not new
    "derived": "made of other memories", "restored": "restored", "updated": "changed",
    "voted": "moved by a vote", "replaced": "replaced", "reviewed": "decided in review",
}  # fmt: skip
_FROM = {
    SourceKind.USER_EXPLICIT: "said by the user",
    SourceKind.USER_IMPLICIT: "said by the user",
    SourceKind.SYSTEM: "recorded by the system",
    SourceKind.TOOL_OUTPUT: "printed by a tool",
    SourceKind.DOCUMENT: "read in a document",
    SourceKind.INFERENCE: "concluded by an agent",
}


def _run_bisect(options: argparse.Namespace) -> int:
    complaint = " ".join(options.complaint).strip()
    if not complaint:
        raise UsageError('say what went wrong: memory-mesh bisect "it deployed to production"')
    asks = not options.run and not options.model
    if asks and (options.json or cli_options.piped()):
        raise UsageError(
            "nobody can answer here: give --run 'test command' or --model, or run it in a terminal"
        )
    with cli_options.opened(options, meaning=True) as (mesh, reader):
        view = mesh.view(scope=reader)
        judge = None
        if not options.model:
            judge = _judge(options, complaint, view.folder, lambda made: _first(view, made))
        said = cli_options.given(options, MemoryMesh.bisect)
        found = view.bisect(
            complaint, judge=judge, session=options.session, across=("agent", "session"), **said
        )
        if options.json:
            output.say_json(found.as_json())
        else:
            _say(found, is_kept=judge is not None)
        if found.culprit is None:
            return 1
        kept = _keep_case(view, found)
        if kept is not None and not options.json:
            output.say(f"The question is kept as a case: memory-mesh eval run {kept}")
        if options.take_back or (asks and _agreed("Take it back? [y/N] ")):
            _take_back(view, found.culprit, complaint, quiet=options.json)
        elif not options.json:
            output.hint("To take it back: the same command with --take-back")
    return 0


def _take_back(view: MemoryMesh, culprit: Culprit, complaint: str, *, quiet: bool) -> None:
    """Takes a write back, and says how what it stored comes back."""
    why = f"found by bisect: {complaint}"
    changed = view.review.take_back(culprit.block, reason=why, scope=culprit.memory.scope)
    if quiet:
        return
    output.say(f"[MemoryMesh] Taken back: {output.counted(len(changed), 'memory')} changed.")
    gone = [one.id for one in changed if one.status is Status.DELETED]
    for id_ in gone[: output.NAMED]:
        output.hint(f"What was deleted comes back with: memory-mesh restore {id_}")


# Judges.


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of a person or a test, on disk from the first on."""

    path: Path
    of: str  # the complaint, and how the question was named
    ask: Callable[[Pack], bool | None]
    known: dict[str, bool] = field(default_factory=dict)

    def __call__(self, made: Pack) -> bool | None:
        """The answer of before, or a new one."""
        text = sha256(f"{self.of}\0{made.text}".encode()).hexdigest()
        if text in self.known:
            return self.known[text]
        try:
            right = self.ask(made)
        except KeyboardInterrupt:
            output.note("\nStopped; the same command goes on from here.")
            raise
        if right is not None:
            self.known[text] = right
            line = json.dumps({"pack": text, "right": right}).encode("ascii") + b"\n"
            journal.append(str(self.path), line)
        return right


def _judge(
    options: argparse.Namespace, complaint: str, folder: Path, first: Callable[[Pack], str]
) -> _Answers:
    ask = _by_test(options.run) if options.run else _Person(first).ask
    path = folder / journal.FOLDER / _ANSWERS
    known = {
        str(line.get("pack")): bool(line.get("right"))
        for line in ([] if options.again else journal.lines(str(path), most=_MOST_BYTES))
    }
    return _Answers(path, f"{complaint}\0{options.run or ''}", ask, known)


def _by_test(command: str) -> Callable[[Pack], bool | None]:
    """A judge that runs a command with the pack as its standard input."""

    def judged(made: Pack) -> bool | None:
        ended = subprocess.run(  # noqa: S602  # the user's own command, as in `git bisect run`
            command, shell=True, input=made.text.encode(), check=False
        ).returncode
        if ended == _SKIP:
            return None
        if ended < 0 or ended >= _MOST_CODE - 1:
            raise StoreError(
                f"the test ended with {ended}: 0 is right, 1 to 124 are wrong, 125 is no answer. "
                "Try it on a pack: memory-mesh context QUESTION | TEST"
            )
        return ended == 0

    return judged


class _Person:
    """A judge at a terminal, who is shown each pack and what differs from the one before."""

    def __init__(self, first: Callable[[Pack], str]) -> None:
        self._first, self._asked = first, 0
        self._last: dict[str, Memory] = {}

    def ask(self, made: Pack) -> bool | None:
        """What the person says; before the first memory nothing was wrong."""
        if not made:
            return True
        self._asked += 1
        before, now = self._last, {item.id: item.memory for item in made}
        if self._asked == 1:
            output.note(self._first(made))
            before = now
        else:
            output.note(f"\n{self._asked}. The same question, asked of an earlier state of the "
                        "memory (+ came, - went, ~ changed since the list above):")  # fmt: skip
        for id_, memory in now.items():
            same = " " if before.get(id_, memory).text == memory.text else "~"
            mark = same if id_ in before else "+"
            output.note(f"  {mark} {output.one_line(memory.text, _COLUMNS)}")
        for id_ in before.keys() - now.keys():
            output.note(f"  - {output.one_line(before[id_].text, _COLUMNS)}")
        self._last = now
        return _answer()


def _answer() -> bool | None:
    """Yes, no, or None to skip; to quit is an interrupt."""
    while True:
        said = cli_options.asked(
            "With these, would it have gone right? [y]es, [n]o, [s]kip, [q]uit: "
        ).casefold()[:1]
        if said in {"y", "n", "s"}:
            return {"y": True, "n": False}.get(said)
        if said in {"q", ""}:
            raise KeyboardInterrupt


def _first(mesh: MemoryMesh, made: Pack) -> str:
    """What stands above the first pack: which prompt it is, of when, and whether it was told."""
    if not made.injection_id:
        return (
            "\n1. No prompt on record was meant. The question, asked of the memory, now or earlier:"
        )
    (record,) = mesh.explain(made.injection_id, see_across=AUDIENCE).injections
    asked = output.one_line(record.question, _COLUMNS) or "a session began"
    of = "It was told" if made.fence == record.fence else "Made anew, from then or earlier"
    return f"\n1. On {_day(record.at)} the agent was asked: {asked}\n   {of}:"


def _agreed(question: str) -> bool:
    return cli_options.asked(question).casefold()[:1] == "y"


# What is said of the result.


def _say(found: Bisection, *, is_kept: bool) -> None:
    """Says which prompt was meant, which write it was, and what goes with it."""
    prompt, asked = found.prompt, output.one_line(found.question, _COLUMNS)
    output.say("")
    if prompt is None:
        output.say(f"No prompt on record was meant; the question, as of now: {asked or '(none)'}")
    else:
        session = (
            f" of session {output.unbroken(prompt.reader.session)}" if prompt.reader.session else ""
        )
        output.say(f"Prompt {prompt.id}, {_day(prompt.at)}{session}: {asked or 'a session began'}")
        if not found.exact:
            output.say(
                "Its text cannot be made again word for word (see docs/reference/bisect.md); the "
                "answer is about the text that can be."
            )
    counts = f"{output.counted(found.asked, 'pack')} judged, {found.writes} writes before it"
    if found.culprit is None:
        output.say(f"[MemoryMesh] No write was found: {found.reason} ({counts}).")
        for memory in found.between[:10]:
            output.say(f"  it may be about {memory.id}: {output.one_line(memory.text, _COLUMNS)}")
        if is_kept:
            output.say("Answers are kept; to be asked anew: the same command with --again")
        return
    output.say(f"[MemoryMesh] {_turned(found.culprit)} ({counts}).")
    if found.turned_before:
        output.say("It was wrong earlier already; this is the last time that it turned wrong.")
    for line in _taken_along(found.culprit):
        output.say(line)


def _turned(culprit: Culprit) -> str:
    """The sentence that says which write it was."""
    memory, before, where = culprit.memory, culprit.before, culprit.memory.source.ref
    origin = f"read from {output.unbroken(where)}" if where else _FROM[memory.source.kind]
    what = origin if culprit.what == "added" else _WHAT.get(culprit.what, culprit.what)
    said = f"It turned wrong with {memory.id}, {what} on {_day(culprit.at)}"
    if culprit.what == "updated" and before is not None and before.text != memory.text:
        return f"{said}, from {first_words(before.text)!r} to {first_words(memory.text)!r}"
    return f"{said}: {first_words(memory.text)!r}"


def _taken_along(culprit: Culprit) -> list[str]:
    lines = []
    for found, verb, what in (
        (culprit.derived, "removes", "made of it since"),
        (culprit.replaced, "brings back", "that gave way to it"),
    ):
        if found:
            lines.append(
                f"Taking it back also {verb} {output.counted(len(found), 'memory')} {what}:"
            )
            lines += [f"  {one.id}  {output.one_line(one.text, _COLUMNS)}" for one in found[:10]]
    return lines


def _day(at: datetime) -> str:
    """A day as people say it, with its hour."""
    return f"{at.astimezone():%A, %d %B %Y, %H:%M}"


def _keep_case(mesh: MemoryMesh, found: Bisection) -> Path | None:
    """Adds the question to the suite of those that went wrong; None where there is no answer."""
    culprit = found.culprit
    right = next((each for each in found.right if culprit and each.id != culprit.memory.id), None)
    if culprit is None or not found.question or (mesh.config.store and "://" in mesh.config.store):
        return None
    case: dict[str, Json] = {"ask": found.question, "category": "bisected"}
    if culprit.what == "updated" and culprit.before is not None:
        said = (culprit.before.text, culprit.memory.text)
        before, after = (first_words(text).removesuffix(" …") for text in said)
        case |= {"expect": [before], "stale": [after]}
    elif right is not None:
        case |= {"expect": [right.id], "stale": [culprit.memory.id]}
    else:
        return None
    path = moves.cases(mesh.folder, mesh.config.namespace)
    head = (
        "# Questions that a memory made wrong; `memory-mesh bisect` adds them.\n"
        f'name: bisected\nstore: ".."\nnamespace: {json.dumps(mesh.config.namespace)}\n'
        f"k: [1, 5]\ncounts: newest_above_stale\nquestions:\n"
    )
    known = path.read_text(encoding="utf-8") if path.exists() else head
    line = f"  - {json.dumps(case)}  # {culprit.memory.id}\n"
    if line not in known:
        journal.make_folder(str(path.parent))
        path.write_text(known + line, encoding="utf-8")
    return path


BISECT = Command(
    'memory-mesh bisect "the agent ran the wrong deploy command"',
    (
        argument(
            "complaint", nargs="*", metavar="COMPLAINT", help="what went wrong, in your words"
        ),
        adding(cli_options.add_operation, MemoryMesh.bisect, _SAID, {"judge", "session"}),
        argument(
            "--run",
            metavar="COMMAND",
            help="let a test judge: it reads a pack, and ends with "
            "0 for right, 1 for wrong, 125 for no answer",
        ),
        argument(
            "--model", action="store_true", help="let the language model of the settings judge"
        ),
        argument("--again", action="store_true", help="forget the answers of an earlier run"),
        argument("--take-back", action="store_true", help="take the write back at once"),
    ),
    _run_bisect,
)
