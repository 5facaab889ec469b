"""The commands that a message advises, for the store that the user named.

A message is written where nobody knows the command line. Here `memory-mesh repair` becomes
`memory-mesh --db-dir /mnt/memory repair` for somebody who gave that folder.
"""

import argparse
import re

_OF_STORE = (
    "backup|export|get|history|import|keys|list|move|namespaces|reembed|repair|restore|review|salvage|"
    "search|stats|upkeep|verify"
)
_OF_NAMESPACE = frozenset(
    {
        "export",
        "get",
        "history",
        "list",
        "reembed",
        "repair",
        "review",
        "search",
        "upkeep",
        "verify",
    }
)
_OF_PYTHON = (
    (re.compile(r"^option, (\w+): "), r"\1 "),
    (re.compile(r"(?:with )?(?:mesh\.)?\w+\([^()]*\), or (?=--|(?:with )?memory-mesh)"), ""),
    (re.compile(r"(?:with )?(?:mesh\.)?\w+\([^()]*\), or on the command line(?: with)?:? "), ""),
    (re.compile(r"(--user) on the command line"), r"\1"),
    (re.compile(r"db_dir, on the command line --db-dir, or"), "--db-dir or"),
)
_ARGUMENT = re.compile(r"([a-z]+(?:_[a-z]+)*) (?:must|is|has|needs)\b")
_INCLUDE = re.compile(r"include=\['(\w+)'\]")
_LEAST = re.compile(r"\bmin_(relevance|similarity)\b")
_COMMAND = re.compile(rf"\bmemory-mesh ({_OF_STORE})\b((?: --?[a-z-]+(?: [A-Z]+\b)?)*)")


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

    return _COMMAND.sub(whole, text)


def in_options(text: str, options: argparse.Namespace) -> str:
    """Names options as the command line does where a message names arguments of Python."""
    for pattern, instead in _OF_PYTHON:
        text = pattern.sub(instead, text)
    found = _ARGUMENT.match(text)
    if found is None or getattr(options, found[1], None) is None:
        return text
    return f"--{found[1].replace('_', '-')}{text[found.end(1) :]}"


def in_words(text: str) -> str:
    """Writes `include=['deleted']` and `min_relevance` as the command line does."""
    text = _INCLUDE.sub(r"--include \1", text)
    return _LEAST.sub(r"--min-\1", text).replace("results (limit)", "results (--limit)")


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
