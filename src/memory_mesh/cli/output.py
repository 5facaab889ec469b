"""Prints text and JSON so that stored content cannot control a terminal.

Every line goes through `safe_text`; JSON is ASCII. Bold and dim are used only on a terminal without
`NO_COLOR`, and never in the lines that RFC-0011 specifies.

The commands that a message advises, for the store that the user named.

A message is written where nobody knows the command line. Here `memory-mesh repair` becomes
`memory-mesh --db-dir /mnt/memory repair` for somebody who gave that folder.
"""

import argparse
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import (
    Json,
    Memory,
    Proposal,
    Skill,
    Status,
    shown_type,
    times as model_times,
)

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_COLOURS = {"red": "\x1b[31m", "green": "\x1b[32m", "yellow": "\x1b[33m"}
NAMED = 5  # names that a line lists
_LINE = 80  # columns of a text in a listing
_COUNTING: list[str] = []  # the line of `progress` that stands on the terminal
_WIDE = 2  # columns of an East Asian character
_state: dict[str, object] = {"json": False, "options": None}  # of this process: its command line
_OF_STORE = (
    "backup|conflicts|erase|export|get|history|import|keys|list|move|namespaces|reembed|repair|restore|review|salvage|"
    "search|stats|update|upkeep|verify"
)
_OF_NAMESPACE = frozenset(
    {
        "conflicts",
        "erase",
        "export",
        "get",
        "history",
        "list",
        "reembed",
        "repair",
        "review",
        "search",
        "update",
        "upkeep",
        "verify",
    }
)
_OF_PYTHON = (
    (lazy_pattern(r"^option, (\w+): "), r"\1 "),
    (lazy_pattern(r"\b(?:with )?(?:mesh\.)?\w++\([^()]*\), or (?=--|(?:with )?memory-mesh)"), ""),
    (
        lazy_pattern(r"\b(?:with )?(?:mesh\.)?\w++\([^()]*\), or on the command line(?: with)?:? "),
        "",
    ),
    (lazy_pattern(r"(--user) on the command line"), r"\1"),
    (lazy_pattern(r"db_dir, on the command line --db-dir, or"), "--db-dir or"),
)
_argument = lazy_pattern(r"([a-z]+(?:_[a-z]+)*) (?:must|is|has|needs)\b")
_include = lazy_pattern(r"include=\['(\w+)'\]")
_least = lazy_pattern(r"\bmin_(relevance|similarity)\b")
_command = lazy_pattern(rf"\bmemory-mesh ({_OF_STORE})\b((?: --?[a-z-]+(?: [A-Z]+\b)?)*)")


def of_command(options: argparse.Namespace) -> None:
    """From now on commands that hints and notes name are about the store that these name."""
    _state["options"] = options


def as_json(*, wanted: bool) -> None:
    """From now on what goes to standard error is JSON, too, if wanted: an object per line."""
    _state["json"] = wanted


def say_error(message: str, code: str) -> None:
    """Prints an error to standard error: a line, or with --json an object with its code."""
    if not _state["json"]:
        print(f"[MemoryMesh Error] {safe_text(message)}", file=sys.stderr)
        return
    cause, hint = _cause_and_hint(safe_text(message))
    _say_line({"error": {"code": code, "message": cause, "hint": hint}})


class Styled(str):
    """A line of ours that may be coloured: what came from elsewhere in it is harmless already."""

    __slots__ = ()


def say(text: str) -> None:
    """Prints a text without control sequences other than our own colours."""
    print(text if isinstance(text, Styled) else safe_text(text))


def say_more(total: int, named: int, what: str = "refused") -> None:
    """Prints how many of a list were not named, if any."""
    if total > named:
        say(f"[MemoryMesh] … and {total - named} more {what}; --json names them.")


def counted(number: int, what: str) -> str:
    """Returns a number with what is counted: 1 memory, 2 memories, 2 days."""
    several = f"{what[:-1]}ies" if what.endswith("y") and what[-2] not in "aeiou" else f"{what}s"
    return f"{number} {what if number == 1 else several}"


def some(names: Sequence[str]) -> str:
    """Returns the first names of a list on one line, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def say_json(value: Json) -> None:
    """Prints the value as an ASCII JSON object: a list is its `items`, nothing is an empty one."""
    if not isinstance(value, dict):
        value = {} if value is None else {"items": value}
    print(json.dumps(value, ensure_ascii=True, indent=2))


def answer(plain: Json, *lines: str, as_json: bool, remark: str = "") -> int:
    """Print what a command did, as JSON or as lines with a hint; the exit code of success."""
    if as_json:
        say_json(plain)
        return 0
    for line in lines:
        say(line)
    if remark:
        hint(remark)
    return 0


def tell(sentences: Iterable[str]) -> None:
    """Prints sentences to standard error, one line each, in a pipe as on a terminal."""
    if sys.stderr is not None:
        for sentence in sentences:
            note(line_of(_of_this_store(sentence)))


def line_of(sentence: str) -> str:
    """Returns a sentence as a line of ours, without control sequences."""
    line = unbroken(sentence).rstrip(".")
    if "_" not in line.partition(" ")[0]:  # neither an id nor the name of an option
        line = line[:1].upper() + line[1:]
    return f"[MemoryMesh] {line}."


def unbroken(text: str) -> str:
    """Returns the text on one line without control sequences, whatever its length."""
    return " ".join(safe_text(text, keep_newlines=False).split())


def named(text: object) -> str:
    """Returns what the user typed, such as a path, on one line and without a secret in it."""
    from memory_mesh.privacy import masked

    return masked(unbroken(str(text)))


def hint(text: str) -> None:
    """Prints a hint to standard error, on a terminal only."""
    if at_terminal() and not _state["json"]:
        print(safe_text(_of_this_store(text)), file=sys.stderr)


def note(text: str) -> None:
    """Prints a line that a reader of the answer must know to standard error."""
    if sys.stderr is None:
        return
    if _state["json"]:
        _say_line({"note": safe_text(text).removeprefix("[MemoryMesh] ")})
    else:
        print(safe_text(text), file=sys.stderr)


def _say_line(value: Json) -> None:
    print(json.dumps(value, ensure_ascii=True), file=sys.stderr)


def _cause_and_hint(message: str) -> tuple[str, str | None]:
    """Divides a message into what happened, its first sentence, and what to do about it."""
    for mark in (". ", "; "):
        cause, found, hint = message.partition(mark)
        if found:
            return cause, hint
    return message.rstrip("."), None


def progress(line: str) -> None:
    """Replace the line on a person's terminal that counts along; an empty one ends it."""
    if at_terminal() and not _state["json"]:
        import shutil

        line = one_line(line, shutil.get_terminal_size().columns - 1)  # a second line would stay
        _COUNTING[:] = [line] if line else []
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """Removes a line that still counts along, so that an error does not stand behind it."""
    if _COUNTING:
        progress("")


def reindex_hint(texts: int) -> str:
    """Returns the hint to update keyword terms of an earlier version."""
    some = "1 text has" if texts == 1 else f"{texts} texts have"
    return f"{some} keyword terms of an earlier version; run `memory-mesh upkeep`."


def bold(text: str) -> str:
    """Returns the text without control sequences, in bold on a terminal."""
    return _styled(_BOLD, text)


def dim(text: str) -> str:
    """Returns the text without control sequences, dimmed on a terminal."""
    return _styled(_DIM, text)


def in_colour(colour: str, text: str) -> str:
    """Returns the text without control sequences, on a terminal red, green or yellow."""
    return _styled(_COLOURS[colour], text)


def at_terminal() -> bool:
    """True if standard error is a terminal: a person reads the hints."""
    return sys.stderr is not None and sys.stderr.isatty()


def on_terminal() -> bool:
    """True if standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def plain(value: object, names: str) -> dict[str, Json]:
    """Returns these attributes of a value as JSON; their names stand between spaces."""
    from memory_mesh.model.why import plain_value

    return {name: plain_value(getattr(value, name)) for name in names.split()}


def described(memory: Memory) -> dict[str, Json]:
    """Returns every field of a memory that is set, as JSON values."""
    times = {
        "created_at": memory.created,
        "updated_at": memory.recorded_from if memory.recorded_from > memory.created else None,
        "occurred_at": memory.occurred_at,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
    }
    known: dict[str, Json] = {
        "id": memory.id,
        "type": shown_type(memory),
        "kind": memory.kind.value,
        "status": memory.status.value,
        "pinned": memory.pinned or None,
        "project": memory.scope.project,
        "agent": memory.scope.agent,
        "session": memory.scope.session,
        "speaker": memory.speaker,
        "role": memory.role,
        "order": memory.order,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "tags": list(memory.tags) or None,
        "triggers": list(memory.triggers) or None,
        "source": memory.source.agent,
        "source_ref": memory.source.ref,
        "channel": memory.source.channel.value,
        "trust": memory.source.kind.value,
        "uses": memory.uses,
        **{name: model_times.iso(time) for name, time in times.items() if time is not None},
        "metadata": memory.metadata or None,
        "content": memory.text,
    }
    always = {"project"}  # null: every project
    return {name: value for name, value in known.items() if value is not None or name in always}


def place_of(memory: Memory, user: str | None) -> str:
    """Whose a memory is and where it came from: its project, the user, the file or page."""
    project = memory.scope.project or "every project"
    user = None if user is None else f"of {user}"
    file = memory.source.ref or ""
    file = f"commit {file[7:14]}" if file.startswith("commit:") else file
    status = None if memory.status is Status.ACTIVE else memory.status.value
    return " · ".join(unbroken(part) for part in (status, project, user, file) if part)


def described_skill(skill: Skill) -> dict[str, Json]:
    """Returns the fields of a skill as JSON values."""
    return {
        "id": skill.id,
        "name": skill.name,
        "intent": skill.intent,
        "metadata": skill.metadata,
        "created_at": skill.created_at,
        "yamo_text": skill.text,
    }


def described_proposal(asked: Proposal) -> dict[str, Json]:
    """Returns the fields of a proposal as JSON values."""
    decided = None if asked.decided_at is None else model_times.iso(asked.decided_at)
    return {
        "id": asked.id,
        "verb": asked.verb.value,
        "memory": asked.memory,
        "change": dict(asked.change),
        "reason": asked.reason,
        "channel": asked.source.channel.value,
        "source": asked.source.agent,
        "created_at": asked.created_at,
        "decided_at": decided,
        "approved": asked.approved,
        "why": asked.why,
    }


def proposed(asked: Proposal, *, as_json: bool) -> int:
    """Prints that a change was proposed."""
    if not asked.pending:
        done = f"[MemoryMesh] {asked.id} says the same and was rejected: {asked.why}"
        hint(f"To think again: memory-mesh review --id {asked.id} --undo")
        answer(described_proposal(asked), done, as_json=as_json)
        return 1
    hint(f"To decide: memory-mesh review --id {asked.id} --approve, or --reject")
    done = f"[MemoryMesh] Proposed {asked.id}: {asked.verb} of {asked.memory}"
    return answer(described_proposal(asked), done, as_json=as_json)


def skill_line(skill: Skill) -> str:
    """Returns one line of a listing for a skill."""
    shown = f"{skill.name}: {skill.intent}"
    return f"{skill.id}  {skill.reliability:.2f}  {one_line(shown, _LINE)}"


def one_line(text: str, columns: int) -> str:
    """Returns the text on one line without control sequences, cut to a number of columns."""
    line = unbroken(text)
    used = 0
    for position, char in enumerate(line):
        used += _WIDE if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns:
            return line[: max(position - 1, 0)] + "…"
    return line


def pairs(values: Mapping[str, str]) -> Sequence[str]:
    """Returns names and values as aligned lines."""
    width = max(map(len, values), default=0)
    return [
        f"{dim(name + ':')}{' ' * (width - len(name))} {safe_text(value, keep_newlines=False)}"
        for name, value in values.items()
    ]


def _styled(style: str, text: str) -> str:
    harmless = safe_text(text, keep_newlines=False)
    if not on_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return harmless
    return f"{style}{harmless}{_PLAIN}"


def _of_this_store(text: str) -> str:
    options = _state["options"]
    return completed(text, options) if isinstance(options, argparse.Namespace) else text


def completed(text: str, options: argparse.Namespace, part: str | None = None) -> str:
    """Adds the store that was given to each command of a text, and the part to those of one.

    The part is the option that names a namespace or a user; None: as it was given.
    """
    store = _store(options)
    which = _given(options) if part is None else part

    def whole(found: re.Match[str]) -> str:
        name, rest = found.groups()
        said = set(rest.split())
        own = "" if said & {"--db-dir", "--store"} else store
        part_of_one = name in _OF_NAMESPACE or (name == "restore" and "--from" not in said)
        of_one = part_of_one and not said & {"--namespace", "--user", "--all"}
        return f"memory-mesh{own}{which if of_one else ''} {name}{rest}"

    return _command().sub(whole, text)


def in_options(text: str, options: argparse.Namespace) -> str:
    """Names options as the command line does where a message names arguments of Python."""
    for pattern, instead in _OF_PYTHON:
        text = pattern().sub(instead, text)
    found = _argument().match(text)
    if found is None or getattr(options, found[1], None) is None:
        return text
    return f"--{found[1].replace('_', '-')}{text[found.end(1) :]}"


def in_words(text: str) -> str:
    """Writes `include=['deleted']` and `min_relevance` as the command line does."""
    text = _include().sub(r"--include \1", text).replace("across=['project']", "--all-projects")
    return _least().sub(r"--min-\1", text).replace("results (limit)", "results (--limit)")


def option(name: str, value: str) -> str:
    """An option with its value, as a shell reads it."""
    import shlex

    return f" --{name} {shlex.quote(value)}"


def _store(options: argparse.Namespace) -> str:
    """The options that name the store; a password is left out."""
    folder = "" if options.db_dir is None else option("db-dir", options.db_dir)
    if options.store is None:
        return folder
    from memory_mesh.platform import store_urls

    place = options.store
    shown = store_urls.shown(place) if store_urls.is_server(place) else place
    return f"{option('store', shown)}{folder}"


def _given(options: argparse.Namespace) -> str:
    """The option that names the namespace; an empty text if none, or more than one, is named."""
    if any(getattr(options, f"also_{name}", ()) for name in ("user", "project", "namespace")):
        return ""  # the message may be about any of them
    given = [(name, getattr(options, name)) for name in ("namespace", "user")]
    return "".join(option(name, value) for name, value in given if value is not None)
