"""What every public method of a mesh does before it runs, and what it says about itself.

A method is declared once, by its signature, its docstring and the types in mesh/options.py. From
these come the checks of its arguments, its text for `help`, the async method, the options of the
command and of the MCP tool, and the reference. Most methods check what matters to them; here the
rest is caught: a value of a type that the signature does not have, a number that no store takes, a
text that is no text, one that is too long. All of them are InvalidInput.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, wraps
from types import FunctionType, MethodType

from memory_mesh.base.typed import TYPE_CHECKING, Any, Protocol, TypeVar, option_types
from memory_mesh.config.tables import SETTINGS
from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.arguments import (
    INTEGER,
    LONGEST,
    NOT_GIVEN,
    TEXT_CHARS,
    check_text,
    near,
    refuse_user_option,
    snake_case,
)

if TYPE_CHECKING:
    from inspect import Signature
    from typing import ParamSpec, overload

    from memory_mesh.mesh.remote import RemoteStore

    Parameters = ParamSpec("Parameters")
    Made_co = TypeVar("Made_co", covariant=True)

    class TakesOptions(Protocol[Parameters, Made_co]):
        """A function that takes its options by name, or all of them in one object."""

        @overload
        def __call__(self, options: Mapping[str, object], /) -> Made_co: ...
        @overload
        def __call__(
            self, *arguments: Parameters.args, **options: Parameters.kwargs
        ) -> Made_co: ...


_MEANT = {  # others' words for ours
    "k": "limit",
    "n": "limit",
    "n_results": "limit",
    "num_results": "limit",
    "max_results": "limit",
    "size": "limit",
    "top_k": "limit",
    "topk": "limit",
    "filters": "filter",
    "where": "filter",
    "threshold": "min_relevance",
    "score_threshold": "min_relevance",
    "min_score": "min_relevance",
    "text": "content",
    "memory": "content",
    "message": "content",
    "data": "content",
    "q": "query",
    "question": "query",
    "id": "memory_id",
    "timestamp": "occurred_at",
    "date": "occurred_at",
    "category": "kind",
    "type": "kind",
    "memory_type": "kind",
    "tag": "tags",
    "labels": "tags",
    "agent": "agent_id",
    "run_id": "session",
    "session_id": "session",
    "thread_id": "session",
    "path": "db_dir",
    "dir": "db_dir",
    "folder": "db_dir",
    "directory": "db_dir",
    "persist_directory": "db_dir",
    "db_path": "db_dir",
    "model": "embedder_model",
    "api_key": "embedder_api_key",
    "token_budget": "max_tokens",
    "budget": "max_tokens",
}
_NAMED = 8  # options that a message lists

_OWN = frozenset({"content", "items", "metadata"})  # `add` says more about what is wrong with them
_SAID = frozenset({"also", "channel", "handler"})  # whose method says more about a wrong type
_SERIES = (Iterable, Sequence, Collection)  # a text is none, though it has letters
_FREE = (object, bool)  # anything may stand for true
_REQUIRED = object()
Method = TypeVar("Method", bound="Callable[..., Any]")
_HEADING = "Options:\n"


class Option:
    """An argument of an operation: its type, its default and what it does."""

    __slots__ = ("about", "classes", "default", "inside", "kind", "name", "positional")

    def __init__(self, name: str, kind: object, default: object, *, positional: bool) -> None:
        """Split the type from the line that describes it."""
        self.name, self.default, self.positional = name, default, positional
        self.kind = getattr(kind, "__origin__", kind) if hasattr(kind, "__metadata__") else kind
        self.about = "".join(getattr(kind, "__metadata__", ())[:1])
        self.classes, self.inside = _classes(self.kind), _classes_inside(self.kind)

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _REQUIRED


def reads(method: Method) -> Method:
    """Decorates a method that changes nothing: it may be called twice, and by who may only read."""
    method.reads = True  # type: ignore[attr-defined]  # a function takes attributes
    return method


def needs(scope: str) -> Callable[[Method], Method]:
    """Decorates a method that needs another scope of a key of the service than its family says."""

    def marked(method: Method) -> Method:
        method.needs = scope  # type: ignore[attr-defined]  # as above
        return method

    return marked


class Operation:
    """A public method: checks its arguments before it runs, and can say what it takes.

    All that describes it is read from the method when somebody asks: `options`, the signature and
    the text for `help`.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        """Wrap a function of a class."""
        self.__wrapped__ = method
        self.__name__, self.__qualname__ = method.__name__, method.__qualname__
        self.__module__ = method.__module__
        self.reads: bool = getattr(method, "reads", False)
        self.needs: str | None = getattr(method, "needs", "read" if self.reads else None)

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # noqa: ANN401
        return self if instance is None else MethodType(self, instance)

    def __call__(self, instance: object, *arguments: object, **options: object) -> object:
        """Check the arguments and run the method."""
        known = self.options
        for option, value in zip(self._positional, arguments, strict=False):
            _check(option.name, value, option.classes, option.inside)
        for name, value in options.items():
            if name not in known:
                raise self._unknown(name, options)
            if value is not NOT_GIVEN:
                _check(name, value, known[name].classes, known[name].inside)
        remote = instance._remote  # type: ignore[attr-defined]  # noqa: SLF001  # of all of these
        if remote is not None and self.__name__ not in remote.local:
            return remote.call(self, instance, arguments, options)
        return self.__wrapped__(instance, *arguments, **options)

    @cached_property
    def options(self) -> dict[str, Option]:
        """Every argument, by name: those of a TypedDict too."""
        code, notes = self.__wrapped__.__code__, self.__wrapped__.__annotations__
        defaults = self.__wrapped__.__defaults__ or ()
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        last = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        default = dict(zip(last, defaults, strict=True)) | (self.__wrapped__.__kwdefaults__ or {})
        found = {
            name: Option(
                name,
                notes.get(name),
                default.get(name, _REQUIRED),
                positional=at < code.co_argcount - 1,
            )
            for at, name in enumerate(names)
        }
        for note in notes.values():
            if type(note).__name__ == "Unpack":
                for name, kind in option_types(note.__args__[0]).items():
                    found[name] = Option(name, kind, NOT_GIVEN, positional=False)
        for name, about in _described(self.__wrapped__.__doc__ or "").items():
            found[name].about = about
        return found

    @cached_property
    def _positional(self) -> list[Option]:
        return [option for option in self.options.values() if option.positional]

    @property
    def __signature__(self) -> "Signature":
        """The signature with every option, as `help` and editors show it."""
        from inspect import Parameter, Signature, signature

        plain = signature(self.__wrapped__)
        named = [
            one.replace(annotation=self.options[one.name].kind) if one.name in self.options else one
            for one in plain.parameters.values()
            if one.kind is not Parameter.VAR_KEYWORD
        ]
        named += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=option.kind)
            for name, option in self.options.items()
            if name not in plain.parameters
        ]
        return Signature(named, return_annotation=plain.return_annotation)

    def _unknown(self, name: str, options: Mapping[str, object]) -> Exception:
        """The error for an option that there is not."""
        refuse_user_option({each: options[each] for each in options if each not in self.options})
        return unknown_option(f"{public_name(self.__qualname__)}()", name, self.options)


def options_of(method: Callable[..., object]) -> dict[str, Option]:
    """The arguments of a public method by name, as its class declares them."""
    return (method if isinstance(method, Operation) else Operation(method)).options


class DocumentOperation(Operation):
    """An operation that a document calls with an object of options, and with camelCase names."""

    def __call__(self, instance: object, *arguments: object, **options: object) -> object:
        """Read the options as ours, and run the method."""
        at = len(arguments) - 1
        last = self._positional[at].classes if 0 <= at < len(self._positional) else ()
        if at >= 0 and isinstance(arguments[at], Mapping) and not _fits(arguments[at], last):
            options = {**arguments[at], **options}  # type: ignore[dict-item]  # a mapping
            arguments = arguments[:at]
        read = {snake_case(str(name)): value for name, value in options.items()}
        return super().__call__(instance, *arguments, **read)


class Operations:
    """A class whose public methods are operations."""

    _operation: type[Operation] = Operation
    _remote: "RemoteStore | None" = None  # of a view whose store is behind a URL

    def __init_subclass__(cls) -> None:
        """Wrap each public method; an alias stays the same method."""
        super().__init_subclass__()
        made: dict[object, Operation] = {}
        for name, method in list(vars(cls).items()):
            is_public = not name.startswith("_") or name == "__call__"
            if isinstance(method, FunctionType) and is_public:
                made[method] = made.get(method) or cls._operation(method)
                setattr(cls, name, made[method])


class CamelCaseNames:
    """A face whose methods may be called by their camelCase names."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever it is called
        """The method of that name as Python writes it."""
        found = snake_case(name)
        if found == name or name.startswith("_") or not hasattr(type(self), found):
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(said, name=name, obj=self)
        return getattr(self, found)


def by_other_names(module: str, names: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's `__getattr__`: its public functions by their camelCase names."""

    def found(name: str) -> Any:  # noqa: ANN401  # whatever it is called
        read = snake_case(name)
        if name.startswith("_") or read == name or read not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return names[read]

    return found


def takes_options(made: "Callable[Parameters, Made_co]") -> "TakesOptions[Parameters, Made_co]":
    """Lets an object of options stand for them, as in the documents; a class does so itself."""

    @wraps(made)
    def called(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # whatever it takes
        arguments, options = _with_object(arguments, options)
        return made(*arguments, **options)

    return made if isinstance(made, type) else called  # type: ignore[return-value]  # either is one


def _with_object(
    arguments: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with what an object in front says among the options; it may be camelCase."""
    if arguments and isinstance(arguments[0], Mapping):
        read = {snake_case(str(name)): value for name, value in arguments[0].items()}
        return arguments[1:], read | options
    return arguments, options


def constructor(method: Method) -> Method:
    """Decorates the constructor of a class that takes settings."""
    return _Constructor(method)  # type: ignore[return-value]  # the same signature


class _Constructor(Operation):
    """The constructor of a class whose settings are checked where they are read."""

    def __call__(self, instance: object, *arguments: object, **options: object) -> object:
        """Refuse options that there are not, and run it; every setting may be given by name.

        An object with options may stand for them, as in the documents; its names may be camelCase.
        """
        arguments, options = _with_object(arguments, options)
        for name in options:
            if name not in self.options and name not in SETTINGS:
                raise self._unknown(name, options)
        return self.__wrapped__(instance, *arguments, **options)


def _text_for_help(operation: Operation) -> str:
    """The docstring, with a line for each option."""
    text = operation.__wrapped__.__doc__ or ""
    described = [option for option in operation.options.values() if option.about]
    if not described:
        return text
    lines = (f"            {option.name}: {option.about}." for option in described)
    before = text.partition(_HEADING)[0].rstrip()
    return "\n".join([before, "", f"        {_HEADING.rstrip()}", *lines, "        "])


Operation.__doc__ = property(_text_for_help)  # type: ignore[assignment]  # of each object its own
_Constructor.__doc__ = DocumentOperation.__doc__ = Operation.__doc__


def _described(docstring: str) -> dict[str, str]:
    """The lines under `Options:` of a docstring, by name."""
    lines = docstring.partition(_HEADING)[2].splitlines()
    parts = (line.strip().partition(": ") for line in lines)
    return {name: about.removesuffix(".") for name, _, about in parts if about}


_FAMILY_OF = {
    "LearnVerbs": "learn.",
    "LessonVerbs": "lessons.",
    "SkillVerbs": "skills.",
    **dict.fromkeys(("LinkVerbs", "WalkVerbs", "EpisodeVerbs"), "graph."),
    **dict.fromkeys(("TraceVerbs", "SystemMemoryVerbs"), "traces."),
    **dict.fromkeys(("ReviewVerbs", "ProposalVerbs", "CodeCheckVerbs"), "review."),
    **dict.fromkeys(("CareVerbs", "UpkeepVerbs", "JobVerbs", "AuditVerbs"), "care."),
    "ReembedVerbs": "care.models.",
    "ProjectVerbs": "care.projects.",
    "AccessKeyVerbs": "care.access_keys.",
}


def public_name(qualname: str) -> str:
    """How a method is called in messages: with its family."""
    owner, _, name = qualname.rpartition(".")
    if not owner.endswith("Verbs"):
        return qualname.removesuffix(".__init__")
    return f"MemoryMesh.{_FAMILY_OF.get(owner, '')}{name}"


def _check(
    name: str, value: object, classes: tuple[type, ...], inside: tuple[type, ...] = ()
) -> None:
    if classes and type(value) not in classes and name not in _SAID and not _fits(value, classes):
        words = " or ".join(
            dict.fromkeys(_WORDS.get(each, f"a {each.__name__}") for each in classes)
        )
        raise InvalidInput(f"{name} must be {words}, not {type(value).__name__}")
    if isinstance(value, str):
        most = TEXT_CHARS if name in _OWN else LONGEST.get(name, TEXT_CHARS)
        if len(value) > most or not value.isascii() or (name not in _OWN and "\0" in value):
            check_text(value, name)
    elif isinstance(value, int):
        if not -INTEGER <= value <= INTEGER:
            raise InvalidInput(f"{name} is a number that needs more than 64 bits")
    elif name not in _OWN:
        _check_inside(name, value, inside)


def _check_inside(name: str, value: object, classes: tuple[type, ...]) -> None:
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            if classes or isinstance(each, str | int):
                _check(f"an item of {name}", each, classes)
    elif classes and isinstance(value, Mapping):
        for each in value.values():
            _check(f"a value of {name}", each, classes)


def _fits(value: object, classes: tuple[type, ...]) -> bool:
    if isinstance(value, str | bytes):
        classes = tuple(each for each in classes if each not in _SERIES)
    return (float in classes and isinstance(value, int)) or isinstance(value, classes)


def _classes(annotation: object) -> tuple[type, ...]:
    """The classes of a simple annotation; empty for one that cannot be asked of a value."""
    parts = getattr(annotation, "__args__", ()) if _is_union(annotation) else (annotation,)
    found: list[type] = []
    for part in parts:
        kind = getattr(part, "__origin__", part)
        if not isinstance(kind, type) or kind in _FREE or getattr(kind, "_is_protocol", False):
            return ()
        found.append(kind)
    return tuple(found)


def _classes_inside(annotation: object) -> tuple[type, ...]:
    """The classes of what a list or a mapping holds; empty if that cannot be asked."""
    for part in getattr(annotation, "__args__", ()) if _is_union(annotation) else (annotation,):
        kind = getattr(part, "__origin__", None)
        if kind in _SERIES or kind is Mapping:
            return _classes(getattr(part, "__args__", (None,))[-1])
    return ()


def _is_union(annotation: object) -> bool:
    return type(annotation).__name__ in {"UnionType", "_UnionGenericAlias"}


_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    type(None): "nothing",
    Iterable: "a list",
    Sequence: "a list",
    Collection: "a list",
    Mapping: "a mapping",
}


# What somebody meant by an option that a method does not have; loaded only to say so.

_SINCE = ("filter", "filter=\"created_at >= '2026-11-01'\"")
_INSTEAD = {  # the option that does it, and how
    "since": _SINCE,
    "after": _SINCE,
    "until": ("filter", "filter=\"created_at < '2026-11-01'\""),
    "before": ("filter", "filter=\"created_at < '2026-11-01'\""),
    "tag": ("filter", "filter=\"tags = 'WORD'\""),
    "tags": ("filter", "filter=\"tags = 'WORD'\""),
    "project": ("scope", "scope=Scope(project=NAME), or open the mesh with project=NAME"),
    "session": ("scope", "scope=Scope(session=NAME)"),
}


def unknown_option(called: str, name: str, known: Iterable[str], *, listed: str = "") -> TypeError:
    """The error for an option that a method does not have: what was meant, or what there is.

    `listed` names the place where the options are read, by default Python's own help.
    """
    names = [each for each in known if each != "self"]
    needed, instead = _INSTEAD.get(name, ("", ""))
    if needed in names:
        return TypeError(f"{called} has no option {name!r}; use {instead}")
    meant = _MEANT.get(name)
    if meant not in names:
        meant = near(name, names)
    if meant is not None:
        hint = f"did you mean {meant}?"
    elif len(names) > _NAMED:
        hint = "its options are in " + (listed or f"help({called.partition('()')[0]})")
    else:
        hint = f"its arguments are: {', '.join(names) or 'none'}"
    return TypeError(f"{called} has no option {name!r}; {hint}")


# The same for a method that a mesh does not have.

_OPERATIONS_MEANT = {  # others' words for ours
    "all": "get_all",
    "add": "record",
    "add_documents": "add_many",
    "add_memory": "add",
    "add_texts": "add_many",
    "fetch": "get",
    "forget": "delete",
    "get_all_memories": "get_all",
    "get_memories": "get_all",
    "insert": "add",
    "list": "get_all",
    "list_memories": "get_all",
    "query": "search",
    "recall": "search",
    "remember": "add",
    "remove": "delete",
    "retrieve": "search",
    "save": "add",
    "similarity_search": "search",
    "store": "add",
    "undelete": "restore",
    "upsert": "update",
}


_WHOLE = "delete(id) deletes one memory; to delete many or all: memory-mesh wipe"
_BACKUP = "use memory_mesh.care.backup(store, folder)"
_ELSEWHERE = {
    "backup": _BACKUP,
    "clear": _WHOLE,
    "delete_all": _WHOLE,
    "reset": _WHOLE,
    "wipe": _WHOLE,
}  # what a mesh does not do itself


def meant(mesh: type, name: str, families: Mapping[str, type]) -> str:
    """What to say of an attribute that a mesh does not have: what was meant, or where it is."""
    said = f"{mesh.__name__!r} object has no attribute {name!r}"
    if name in _ELSEWHERE:
        return f"{said}; {_ELSEWHERE[name]}"
    places = {
        each: f"{family}.{each}"
        for family, kind in families.items()
        for each in dir(kind)
        if not each.startswith("_")
    }
    known = {each: each for each in dir(mesh) if not each.startswith("_")}
    found = _OPERATIONS_MEANT.get(name)
    found = found if found in known else places.get(name)
    if found is None:
        found = (places | known).get(near(name, [*known, *places]) or "")
    return f"{said}; did you mean {found}?" if found else f"{said}; help({mesh.__name__}) lists all"
