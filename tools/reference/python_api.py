"""The pages of the Python API, made from the classes and functions themselves."""

import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import memory_mesh
import memory_mesh.model
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.mesh import conversation, mesh
from memory_mesh.mesh.document_names import Families
from memory_mesh.mesh.operation import public_name
from memory_mesh.mesh.operations import (
    access_keys,
    context,
    graph,
    learning,
    lessons,
    memories,
    projects,
    review,
    search,
    skills,
    system_memory,
    traces,
    transfer,
    upkeep,
)
from memory_mesh.mesh.view import Family
from memory_mesh.model import ports
from tools.reference import notes
from tools.reference.field_notes import FIELDS
from tools.reference.source import Argument, Call, call_of, calls_of, fields_of, summary

Owners = Mapping[str, type]  # heading, and the class whose methods stand under it
VERBS: Mapping[str, tuple[str, Owners]] = {  # page: title, its parts
    "memories": (
        "Add, read and change memories",
        {
            "Memories": memories.MemoryVerbs,
            "Erase memories for good": memories.EraseVerbs,
            "Files of memories": transfer.TransferVerbs,
        },
    ),
    "search": (
        "Search, context and explanations",
        {
            "Find memories": search.SearchVerbs,
            "Context for a prompt": context.ContextVerbs,
            "Why": context.ExplainVerbs,
            "What a task calls up": context.InjectionVerbs,
        },
    ),
    "review": (
        "Votes, conflicts and review",
        {
            "Votes and review": review.ReviewVerbs,
            "Propose a change": review.ProposalVerbs,
            "Check cited code": review.CodeCheckVerbs,
        },
    ),
    "learning": (
        "Lessons, skills, traces and jobs",
        {
            "Lessons": lessons.LessonVerbs,
            "Conversations": learning.LearnVerbs,
            "Skills": skills.SkillVerbs,
            "Recorded runs": traces.TraceVerbs,
            "Maintenance": upkeep.JobVerbs,
            "System memory": system_memory.SystemMemoryVerbs,
        },
    ),
    "graph": (
        "Links, graph and episodes",
        {
            "Link memories": graph.LinkVerbs,
            "Walk along links": graph.WalkVerbs,
            "Group memories": graph.EpisodeVerbs,
        },
    ),
    "upkeep": (
        "Upkeep, audit and projects",
        {
            "Keep a store in order": upkeep.UpkeepVerbs,
            "Triggers, models, projects": upkeep.CareVerbs,
            "Change the embedding model": upkeep.ReembedVerbs,
            "Audit": upkeep.AuditVerbs,
            "Projects": projects.ProjectVerbs,
            "Keys of the service": access_keys.AccessKeyVerbs,
        },
    ),
}
MODULES: Mapping[str, tuple[str, tuple[str, ...]]] = {  # module: what it is for, its names
    "memory_mesh.care": (
        "whole stores by their folder; no mesh has to be open",
        (
            "backup", "restore", "export_archive", "import_archive", "move_store",
            "move_namespace", "repair", "salvage", "delete_namespace", "key_state", "rotate_key",
            "replace_key",
        ),
    ),
    "memory_mesh.mirror": ("memories as Markdown files", ("Mirror", "MirrorReport", "Author")),
    "memory_mesh.traces": ("record an agent's runs", ("recording", "recorded", "current", "Run")),
    "memory_mesh.traces.files": (
        "traces as files, and a project's memory as a folder",
        ("import_files", "export_files", "write_layout"),
    ),
    "memory_mesh.agents.adapters.langgraph": ("a store for LangGraph", ("MeshStore",)),
    "memory_mesh.agents.adapters.openai": (
        "memory for OpenAI-compatible clients",
        ("with_memory", "settle"),
    ),
    "memory_mesh.evaluation": (
        "measure retrieval",
        ("run", "load", "work_folder", "EvaluationReport", "FailedQuestion", "Suite"),
    ),
    "memory_mesh.testing": (
        "for people who write their own embedder or adapter",
        ("FrozenClock", "ScriptedLLM", "EmbedderContract", "AdapterContract"),
    ),
}  # fmt: skip
PROTOCOLS = (ports.Embedder, ports.Reranker, ports.LLM, ports.Sink, ports.Clock)
_AWAITED = memory_mesh.MemoryMesh
_NAME = re.compile(r"\b[A-Z]\w+")


def pages() -> Iterator[tuple[str, str]]:
    """The pages of the Python API: path under docs/reference/python, and text."""
    yield "mesh.md", _mesh_page()
    for page, (title, parts) in VERBS.items():
        yield f"{page}.md", _page(title, _of_parts(parts))
    yield "conversation.md", _conversation_page()
    yield "graph-face.md", _graph_page()
    yield "modules.md", _modules_page()
    yield "values.md", _values_page()


def method_pages() -> dict[str, str]:
    """The page of each public method of MemoryMesh."""
    return {
        call.name: f"{page}.md"
        for page, (_, parts) in VERBS.items()
        for owner in parts.values()
        for call in _operations_of(owner)
    } | {call.name: "mesh.md" for call in calls_of(mesh.MemoryMesh)}


@cache
def values() -> dict[str, type]:
    """The values that public methods take and return, and those in their fields."""
    known = _model()
    wanted = [name for name in memory_mesh.__all__ if name in known]
    for call in _all_calls():
        wanted += _NAME.findall(" ".join([call.returns, *(one.kind for one in call.arguments)]))
    found: dict[str, type] = {}
    while wanted:
        name = wanted.pop()
        if name in known and name not in found:
            found[name] = known[name]
            wanted += _NAME.findall(" ".join(field.kind for field in fields_of(known[name])))
    return dict(sorted(found.items()))


def _mesh_page() -> str:
    methods = method_pages()
    told = {call.name: call.about for owner in _owners() for call in _operations_of(owner)}
    index = [
        f"| [`{name}`]({page}#{name.replace('.', '')}) | {_first(told[name])} |"
        for name, page in methods.items()
    ]
    parts = [
        (
            "`memory_mesh.sync.MemoryMesh` blocks; `memory_mesh.MemoryMesh` has the same "
            "methods to await. Both may be shared by threads; a mesh per process, views for "
            "the rest."
        ),
        (
            "```python\nfrom memory_mesh.sync import MemoryMesh\n\n"
            'with MemoryMesh(db_dir="memories") as mesh:\n'
            '    mesh.add("The user prefers dark themes")\n```'
        ),
        "## Every method\n\n| method | what it does |\n|---|---|\n" + "\n".join(index),
        (
            "## What every method can raise\n\n"
            "[`InvalidInput`](../errors.md) for an argument that is not valid, `Closed` after "
            "`close`, and the errors of the store, such as `StoreIsBusy`: "
            "[errors](../errors.md). What is raised beside them is said of each method."
        ),
        "## MemoryMesh\n\n" + _constructor(mesh.MemoryMesh),
        *(_method(call, "mesh") for call in calls_of(mesh.MemoryMesh)),
        (
            "## Families\n\nOperations on one subject. A family is loaded when it is used; the "
            "async class has the same ones.\n\n"
            + "\n".join(
                f"- `{name}`: {_lowered(one.__doc__ or '')}"
                for name, one in vars(Families).items()
                if isinstance(one, Family)
            )
        ),
    ]
    return _page("MemoryMesh", parts)


def _of_parts(parts: Owners) -> Iterator[str]:
    for heading, owner in parts.items():
        yield f"## {heading}"
        yield from (_method(call, "mesh") for call in _operations_of(owner))


def _operations_of(owner: type) -> list[Call]:
    """The methods of a class under the words by which they are called: `review.waiting`."""
    return [
        replace(call, name=public_name(f"{owner.__name__}.{call.name}").removeprefix("MemoryMesh."))
        for call in calls_of(owner)
    ]


def _conversation_page() -> str:
    owner = conversation.MemoryContextManager
    return _page(
        "MemoryContextManager",
        [
            (
                "Memory for a chat loop. `memory_mesh.sync.MemoryContextManager` blocks; "
                "`memory_mesh.MemoryContextManager` is to be awaited."
            ),
            summary(owner),
            "## MemoryContextManager\n\n" + _constructor(owner),
            *(_method(call, "memory") for call in calls_of(owner)),
        ],
    )


def _graph_page() -> str:
    owner = memory_graph.MemoryGraph
    return _page(
        "MemoryGraph",
        [
            (
                "The methods of neolata over a memory-mesh store: [the graph "
                "face](../neolata.md) says when to use it. "
                "`memory_mesh.compat.neolata.memory_graph` blocks, "
                "`memory_mesh.compat.neolata` is to be awaited."
            ),
            "## create_memory\n\n" + _constructor(owner, "create_memory"),
            "## MemoryGraph",
            *(_method(call, "graph") for call in calls_of(owner, inherited=True)),
        ],
    )


def _modules_page() -> str:
    parts = ["Functions and classes beside `MemoryMesh`."]
    for module, (purpose, names) in MODULES.items():
        parts.append(f"## {module}\n\n{_sentence(purpose)}")
        home = importlib.import_module(module)
        parts += [_member(getattr(home, name), name) for name in names]
    parts.append(
        "## memory_mesh.model.ports\n\nWhat an object of your own must have to take the place of "
        "ours: "
        "`custom_embedder`, `custom_reranker`, `custom_llm`, `sinks` and `clock`."
    )
    parts += [_member(protocol, protocol.__name__) for protocol in PROTOCOLS]
    return _page("Other modules", parts)


def _values_page() -> str:
    most = ", ".join(f"[{name}](#{name.lower()})" for name in values() if name in FIELDS)
    parts = [f"What methods take and return. Those that you meet most: {most}."]
    for name, owner in values().items():
        parts.append(f"## {name}\n\n{summary(owner)}\n\nImport: `{_home(name, owner)}`.")
        if table := _fields(owner):
            parts.append(table)
        read = [call for call in calls_of(owner, inherited=True) if call.is_property]
        parts += ["\n".join(f"- {_property(call)}" for call in read)] if read else []
    return _page("Values", parts)


def _home(name: str, owner: type) -> str:
    homes = ("memory_mesh", "memory_mesh.model", "memory_mesh.compat.neolata")
    public = [home for home in homes if name in importlib.import_module(home).__all__]
    return f"{[*public, owner.__module__][0]}.{name}"


def _member(found: object, name: str) -> str:
    if inspect.isclass(found):
        shown = [f"### {name}", summary(found)]
        made = vars(found).get("__init__")
        if made is not None and not made.__code__.co_filename.startswith("<"):
            shown.append(_constructor(found))
        elif made is not None:  # written by the decorator of values
            shown.append(_fields(found))
        own = [call for call in calls_of(found) if not call.name.startswith("test_")]
        shown += [f"#### {call.name}\n\n{_called(call, '')}" for call in own]
        return "\n\n".join(part for part in shown if part)
    assert callable(found)  # noqa: S101  # classes and functions are all there are
    return f"### {name}\n\n{_called(call_of(found), '')}"


def _constructor(owner: type, name: str = "") -> str:
    call = call_of(owner.__init__)  # type: ignore[misc]  # of this very class
    stated = [one for one in call.arguments if not _is_setting(one)]
    settings = len(stated) < len(call.arguments)
    words = [_short(one) for one in stated] + (["**settings"] if settings else [])
    star = ["*"] if stated and all(one.keyword_only for one in stated) else []
    text = f"```text\n{name or owner.__name__}({', '.join(star + words)})\n```\n\n{call.about}"
    more = "\n\nEvery [setting](../settings.md) is an argument too." if settings else ""
    return f"{text}\n\n{_table(stated)}{more}"


def _is_setting(one: Argument) -> bool:
    from memory_mesh.config.tables import SETTINGS

    return one.name in SETTINGS and one.default == "None"


def _method(call: Call, owner: str) -> str:
    return f"### {call.name}\n\n{_called(call, owner)}"


def _called(call: Call, owner: str) -> str:
    if call.is_property:
        return f"{_property(call)}"
    before = f"{owner}." if owner else ""
    parts = [f"```text\n{before}{call.name}({_signature(call)})\n```", call.about]
    if owner == "mesh" and not _is_awaited(call.name):
        parts.append("The async class has it without `await`.")
    if call.arguments:
        parts.append(_table(call.arguments))
    parts.append(f"Returns {_kind(call.returns)}.{_raised(call, owner)}")
    if owner == "mesh" and call.name in notes.EXAMPLES:
        parts.append(f"```python\n{notes.EXAMPLES[call.name]}\n```")
    return "\n\n".join(part for part in parts if part)


def _property(call: Call) -> str:
    return f"`{call.name}`, a property, {_kind(call.returns)}: {_lowered(call.about)}"


def _raised(call: Call, owner: str) -> str:
    if owner != "mesh":
        return ""
    names = [error for error, methods in notes.RAISES.items() if call.name in methods]
    if any(one.name == "filter" for one in call.arguments):
        names.append("FilterError")
    linked = [f"[`{name}`](../errors.md#{name.lower()})" for name in names]
    return f" Raises {', '.join(linked)}." if linked else ""


def _is_awaited(name: str) -> bool:
    return "." in name or inspect.iscoroutinefunction(getattr(_AWAITED, name))


def _signature(call: Call) -> str:
    words, starred = [], False
    for one in call.arguments:
        if one.keyword_only and not starred:
            words.append("*")
            starred = True
        words.append(_short(one))
    joined = ", ".join(words)
    return joined if len(joined) < 64 else "\n    " + ",\n    ".join(_rows(words)) + ",\n"


def _rows(words: list[str]) -> Iterator[str]:
    row: list[str] = []
    for word in words:
        if row and len(", ".join([*row, word])) > 68:
            yield ", ".join(row)
            row = []
        row.append(word)
    yield ", ".join(row)


def _short(one: Argument) -> str:
    return one.name if one.default is None else f"{one.name}={one.default}"


def _table(arguments: Iterable[Argument]) -> str:
    rows = [
        f"| `{one.name}` | {_kind(one.kind)} | {_default(one.default)} | {_about(one)} |"
        for one in arguments
    ]
    head = "| argument | type | default | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(rows) if rows else ""


def _fields(owner: type) -> str:
    found = fields_of(owner)
    if not found:
        return ""
    if issubclass(owner, enum.Enum):
        return (
            "One of: " + ", ".join(f"`{field.default}`".replace("'", "") for field in found) + "."
        )
    told = [field.about or FIELDS.get(owner.__name__, {}).get(field.name, "") for field in found]
    meaning = any(told)  # a column without a word says nothing
    rows = [
        f"| `{field.name}` | {_kind(field.kind)} | {_default(field.default)} |"
        + (f" {_cell(about)} |" if meaning else "")
        for field, about in zip(found, told, strict=True)
    ]
    head = "| field | type | default |" + (" meaning |" if meaning else "")
    return f"{head}\n|---|---|---|{'---|' if meaning else ''}\n" + "\n".join(rows)


def _about(one: Argument) -> str:
    about = one.about or notes.ARGUMENTS.get(one.name, "")
    return _cell(about)


def _default(value: str | None) -> str:
    return "" if value is None else f"`{value}`"


def _kind(kind: str) -> str:
    """A type for a reader: alternatives joined by `or`, our own linked to the page of values."""
    return " or ".join(_linked(part) for part in _alternatives(kind))


def _linked(kind: str) -> str:
    code = f"`{kind}`" if "|" not in kind else f"<code>{kind.replace('|', '&#124;')}</code>"
    names = [name for name in _NAME.findall(kind) if name in values()]
    return f"[{code}](values.md#{names[0].lower()})" if names else code


def _alternatives(kind: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(kind):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(kind[start:place].strip())
            start = place + 1
    return [*parts, kind[start:].strip()]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")


def _first(about: str) -> str:
    return _cell(about.split("\n\n", maxsplit=1)[0])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _lowered(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}" if text[1:2].islower() else text


def _page(title: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def _owners() -> list[type]:
    return [mesh.MemoryMesh, *(owner for _, parts in VERBS.values() for owner in parts.values())]


def _all_calls() -> Iterator[Call]:
    for owner in [*_owners(), conversation.MemoryContextManager]:
        yield from calls_of(owner)
    yield from calls_of(memory_graph.MemoryGraph, inherited=True)
    yield from _functions()


def _functions() -> Iterator[Call]:
    for module, (_, names) in MODULES.items():
        for name in names:
            found: Callable[..., object] = getattr(importlib.import_module(module), name)
            if inspect.isfunction(found):
                yield call_of(found)


def _model() -> dict[str, type]:
    homes = ["memory_mesh.compat.neolata.model"]
    homes += [
        f"memory_mesh.model.{found.name}"
        for found in pkgutil.iter_modules(memory_mesh.model.__path__)
    ]
    return {
        name: value
        for home in homes
        for name, value in vars(importlib.import_module(home)).items()
        if inspect.isclass(value)
        and value.__module__.startswith("memory_mesh")
        and not issubclass(value, Exception)
        and not name.startswith("_")
    }
