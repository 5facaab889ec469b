"""Write the options of public methods into their signatures and docstrings.

    python tools/generate_options.py            write them
    python tools/generate_options.py --check    exit 1 when a file is not what this makes

Two sets of options are shared: the settings of a store (`SETTINGS` in settings.py)
and the details of a memory (`DETAILS` in policy/writing/drafts.py). They are written
between the marks `# begin generated options (NAME)` and `# end generated options`. Every public
method with keyword-only arguments gets a section `Options:` at the end of its docstring, one line
each: from the shared sets, from SHARED below, or as the line stands in the docstring already.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_mesh import config
from memory_mesh.policy.writing import drafts

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/memory_mesh"
FILES = (
    "sync.py",
    "conversation.py",
    "compat/neolata/memory_graph.py",
    *(
        path.relative_to(PACKAGE).as_posix()
        for folder in ("verbs", "compat/neolata/verbs")
        for path in sorted((PACKAGE / folder).glob("*.py"))
    ),
)
BLOCK = re.compile(
    r"^(?P<indent> +)# begin generated options \((?P<name>[a-z ]+)\)\n"
    r".*?^(?P=indent)# end generated options\n",
    re.MULTILINE | re.DOTALL,
)
SECTION = re.compile(r"\n\s*\n *Options:\n(?P<lines>.*)\Z", re.DOTALL)
LINE = re.compile(r" +(?P<name>\w+): (?P<about>.+)\.")
NEW_ONLY = {"quarantine", "keep_active", "derived_from", "key", "allow_duplicate"}
MAX_WIDTH = 100

_SEEN_BY = drafts.DETAILS["scope"][1]
# What arguments of one name mean: in one method, in one face, or everywhere ("").
SHARED: Mapping[str, Mapping[str, str]] = {
    "": {
        "across": "parts of the scope to ignore: project, agent, session",
        "approve": "True lets it in, False archives it and keeps its value out",
        "as_of": "answer from what was recorded at this time",
        "as_owner": "show what is for others, too: every project, agent and session",
        "channel": "where texts come from; it limits how far they are trusted",
        "clock": "the clock to use instead of the system's",
        "custom_embedder": "an embedder object to use instead of a configured one",
        "custom_llm": "a language model object to use instead of a configured one",
        "custom_reranker": "a reranker object to use instead of a configured one",
        "filter": "a condition, such as \"team = 'core' AND priority >= 3\", or a mapping",
        "include": "further statuses to show beside active, such as quarantined",
        "limit": "the largest number of results, 1 to 1,000",
        "lookback": "the number of memories to look at",
        "predicate_schemas": "how predicates behave, by name",
        "reason": "the reason, stored in the audit block",
        "scope": "who reads; by default the project, agent and session of this mesh",
        "sinks": "objects that are handed every write",
        "storage": "an object that keeps the memories, instead of a store of our own",
        "topic": "what the memories are about; by default the newest are taken",
        "use_cache": "allow an answer from the cache of recent searches",
        "valid_at": "show what is true at this time",
        "writethrough": "hooks that hear of writes: objects with events, or functions",
    },
    "MemoryGraph": {
        "after": "only memories of this time or later",
        "before": "only memories from before this time",
        "explain": "say how each score came about and what was left out",
        "include_all": "show memories of every status",
        "include_disputed": "show disputed memories too",
        "include_quarantined": "show memories that wait for review too",
        "include_superseded": "show memories that others took the place of too",
        "min_similarity": "leave out memories less similar than this, 0 to 1",
        "rerank": "order by trust, recency and importance too; a mapping gives their weights",
        "session_id": "prefer memories of this session",
        "status_filter": "the statuses to show",
    },
    "create_episode": {"session_id": "memories of this session"},
    "ingest_skill": {"scope": _SEEN_BY},
    "record_trace": {"scope": _SEEN_BY},
    "record_traces": {"scope": _SEEN_BY},
    "distill_lesson": {"scope": _SEEN_BY},
    "receive_lesson": {"scope": _SEEN_BY},
    "view": {
        "namespace": "the part of the store to work in",
        "scope": "the project, agent and session to read and write as",
    },
}


class CannotGenerate(Exception):
    """An option has no description, or a line is too long."""


def main() -> int:
    """Write the options, or with --check compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    checking, stale = parser.parse_args().check, 0
    for name in FILES:
        path = PACKAGE / name
        source = path.read_text(encoding="utf-8")
        made = generate(source)
        if made == source:
            continue
        stale += 1
        if checking:
            print(f"{path.relative_to(ROOT)} is out of date: run `just generate`", file=sys.stderr)
        else:
            path.write_text(made, encoding="utf-8")
            print(f"wrote the options of {path.relative_to(ROOT)}")
    if not stale:
        print(f"the options of {len(FILES)} files are what their descriptions make")
    return 1 if checking and stale else 0


def generate(source: str) -> str:
    """The source with every shared option in its signatures and a line for each in docstrings."""
    source = BLOCK.sub(_block, source)
    lines = source.splitlines(keepends=True)
    for owner, node in reversed(list(_public(ast.parse(source)))):
        docstring = node.body[0]
        assert docstring.end_lineno is not None  # noqa: S101  # parsed from text
        span = slice(docstring.lineno - 1, docstring.end_lineno)
        signature = "".join(lines[node.lineno - 1 : span.start])
        lines[span] = [_documented("".join(lines[span]), owner, node, signature)]
    return "".join(lines)


def option_sets() -> dict[str, dict[str, str]]:
    """The parameters of each shared set: name, type and default as they are written."""
    settings = {name: kind for name, (kind, _) in config.SETTINGS.items()}
    details = {name: kind for name, (kind, _) in drafts.DETAILS.items()}
    return {
        "settings": {name: f"{kind} = None" for name, kind in settings.items()},
        "other settings": {  # where the store is the first argument
            name: f"{kind} = None" for name, kind in settings.items() if name != "store"
        },
        "details": {
            name: f"{kind.removesuffix(' | None')} | None = None" for name, kind in details.items()
        },
        "changed details": {
            name: re.sub(r"( \| None)?$", r" | NotGiven\1 = NOT_GIVEN", kind, count=1)
            for name, kind in details.items()
            if name not in NEW_ONLY
        },
    }


def _block(match: re.Match[str]) -> str:
    indent, name = match["indent"], match["name"]
    options = option_sets().get(name)
    if options is None:
        raise CannotGenerate(f"there is no set of options {name!r}")
    lines = [
        f"# begin generated options ({name})",
        *(f"{option}: {kind}," for option, kind in options.items()),
        "# end generated options",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def _public(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public methods and functions with keyword-only arguments, each with its class's name."""
    for node in module.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for each in inside:
            if not isinstance(each, ast.FunctionDef) or not each.args.kwonlyargs:
                continue
            if not each.name.startswith("_") or each.name == "__init__":
                yield owner, each


def _documented(text: str, owner: str, node: ast.FunctionDef, signature: str) -> str:
    """The lines of a docstring with its section of options written anew."""
    indent, said = text[: len(text) - len(text.lstrip())], text.strip().removeprefix('"""')
    said = said.removesuffix('"""').rstrip()
    old = SECTION.search(said)
    by_hand = dict(LINE.findall(old["lines"])) if old else {}
    block = BLOCK.search(signature)
    known = {**by_hand, **SHARED[""], **_of_face(owner), **SHARED.get(node.name, {})}
    known |= _descriptions(block["name"]) if block else {}
    lines = []
    for name in (argument.arg for argument in node.args.kwonlyargs):
        if name not in known:
            raise CannotGenerate(f"{node.name}: describe {name} under Options: in its docstring")
        lines.append(f"{indent}    {name}: {known[name]}.")
        if len(lines[-1]) > MAX_WIDTH:
            raise CannotGenerate(f"{node.name}: the description of {name} is too long")
    head = said[: old.start()] if old else said
    return "\n".join([f'{indent}"""{head}', "", f"{indent}Options:", *lines, f'{indent}"""\n'])


def _of_face(owner: str) -> Mapping[str, str]:
    """What options mean in a class, or in all of `GraphStoring` … that make up `MemoryGraph`."""
    of_graph = owner.startswith("Graph") and not owner.endswith("Verbs")
    return SHARED.get("MemoryGraph" if of_graph else owner, {})


def _descriptions(name: str) -> Mapping[str, str]:
    """What each option of a shared set is; of a setting also its default, where it has one."""
    if "settings" not in name:
        return {name: about for name, (_, about) in drafts.DETAILS.items()}
    defaults = config.Config()
    return {
        setting: f"{about} (default {value!r})" if isinstance(value, str | int | float) else about
        for setting, (_, about) in config.SETTINGS.items()
        for value in [getattr(defaults, setting)]
    }


if __name__ == "__main__":
    sys.exit(main())
