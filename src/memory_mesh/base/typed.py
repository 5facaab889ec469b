"""Names of `typing`, and the frozen, slotted `dataclass`, for a tenth of their price at start-up.

`typing` costs a sixth of a bare interpreter; `dataclasses` loads `inspect` and compiles six methods
for each class, which for our fifty nouns costs more than all else a command does. Type checkers
read the real ones. At run time annotations are evaluated, but nobody asks for them, so each name is
the cheapest thing that can stand in an annotation. The methods of values are shared, and `__init__`
is compiled when the first value is made; `dataclasses.fields`, `replace` and `asdict`, pattern
matching, pickling and copying treat these values as any other dataclass.
"""

__all__ = [
    "TYPE_CHECKING",
    "Annotated",
    "Any",
    "ClassVar",
    "Generic",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TextIO",
    "TypeAlias",
    "TypeVar",
    "TypedDict",
    "Unpack",
    "dataclass",
    "described",
    "field",
    "fields",
    "option_types",
    "replace",
]

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass, field, fields, replace
    from typing import (
        Annotated,
        Any,
        ClassVar,
        Generic,
        Literal,
        NoReturn,
        Protocol,
        Self,
        TextIO,
        TypeAlias,
        TypedDict,
        TypeVar,
        Unpack,
    )
else:

    class _Form:
        """Takes any subscript: `Literal["a"]`, `ClassVar[int]`."""

        def __class_getitem__(cls, _item):
            return object

    class Annotated:
        """A type and its one line of documentation, named as in `typing`."""

        def __class_getitem__(cls, item):
            made = cls()
            made.__origin__, *made.__metadata__ = item
            return made

    class Unpack:
        """The options of a TypedDict, as `**options` of a function."""

        def __class_getitem__(cls, item):
            made = cls()
            made.__args__ = (item,)
            return made

    class TypedDict(dict):
        """A base class that takes `total`."""

        def __init_subclass__(cls, *, total=True):
            """Accept what the real one accepts."""

    def TypeVar(_name, *_constraints, bound=None):  # noqa: N802  # the name in typing
        """A type that may be anything."""
        return object

    Any = NoReturn = Protocol = Self = TextIO = TypeAlias = object
    Callable = ClassVar = Generic = Literal = Mapping = _Form


def described(options: type) -> dict[str, str]:
    """What each option of a TypedDict is, by name; those of its bases come first."""
    return {name: kind.__metadata__[0] for name, kind in option_types(options).items()}


def option_types(options: type) -> dict[str, Any]:
    """The annotation of each option of a TypedDict."""
    found: dict[str, Any] = {}
    for home in reversed(options.__mro__):
        found |= vars(home).get("__annotations__", {})
    return found


Value = TypeVar("Value")
_NOTHING = object()  # no default was stated
_FEW = 4  # of each kind are made the slow way: a short run is over before compiling would pay
_OFTEN = 32  # copies of a kind, after which compiling what copies it pays


class _Field:
    """One field: what it is called, what it holds, and what it holds when nothing is said."""

    __slots__ = ("default", "default_factory", "kw_only", "name", "repr", "type")

    def __init__(
        self,
        default: object = _NOTHING,
        default_factory: Callable[[], object] | None = None,
        *,
        repr: bool = True,  # noqa: A002  # the standard's name
        kw_only: bool = False,
    ) -> None:
        self.default, self.default_factory, self.repr = default, default_factory, repr
        self.kw_only = kw_only

    def belongs(self, name: str, type_: object, *, kw_only: bool) -> None:
        """Take a place in a class."""
        self.name, self.type, self.kw_only = name, type_, kw_only or self.kw_only


def _field(**options: Any) -> Any:
    """State a default factory, or that a field is not for every eye."""
    return _Field(**options)


def _fields(value: Any) -> tuple[_Field, ...]:
    """The fields of a value or of its class, in order."""
    return tuple(value.__value_fields__.values())


def _replace(value: Any, /, **changes: object) -> Any:
    """A copy of the value in which something is different."""
    cls = value.__class__
    copy = _copiers.get(cls)
    if copy is not None and changes.keys() <= cls.__value_fields__.keys():
        return copy(value, changes)
    _replaced[cls] = times = _replaced.get(cls, 0) + 1
    if times == _OFTEN:
        _copiers[cls] = _copier(cls)
    kept = dict(zip(cls.__value_fields__, _held(cls)(value), strict=True))
    kept.update(changes)
    return cls(**kept)


def _copier(cls: Any) -> Callable[[Any, Mapping[str, object]], Any]:
    """A function that copies a value with changes of known fields, compiled from its text.

    It sets the slots one by one, and takes a third of the time of a call with all fields by name.
    """
    setters = {name: getattr(cls, name).__set__ for name in cls.__value_fields__}
    known: dict[str, Any] = {"_new": object.__new__, "_cls": cls, "_setters": setters}
    lines = ["def copy(value, changes):", "    made = _new(_cls)"]
    for name, setter in setters.items():
        known[f"_set_{name}"] = setter
        lines.append(f"    _set_{name}(made, value.{name})")
    lines += ["    for name, changed in changes.items():", "        _setters[name](made, changed)"]
    exec("\n".join([*lines, "    return made"]), known)  # noqa: S102  # our own names
    compiled: Callable[[Any, Mapping[str, object]], Any] = known["copy"]
    return compiled


_replaced: dict[Any, int] = {}  # how often a value of a class was copied
_copiers: dict[Any, Callable[[Any, Mapping[str, object]], Any]] = {}  # of those copied often
_readers: dict[Any, Callable[[Any], tuple[object, ...]]] = {}  # what `_held` made


def _held(cls: Any) -> Callable[[Any], tuple[object, ...]]:
    """A function that reads all fields of a value at once, in order, and quickly."""
    if cls not in _readers:
        from operator import attrgetter

        names = tuple(cls.__value_fields__)
        _readers[cls] = (
            attrgetter(*names)
            if len(names) > 1
            else lambda value: tuple(getattr(value, name) for name in names)
        )
    return _readers[cls]


def _dataclass(
    *, frozen: bool, slots: bool, kw_only: bool = False
) -> Callable[[type[Value]], type[Value]]:
    """Turn a class of annotated fields into a value; only the frozen, slotted kind is made here."""
    if not (frozen and slots):
        raise TypeError(
            "a value is frozen and slotted; for anything else take the standard dataclass"
        )
    return lambda plain: _made(plain, kw_only=kw_only)


def _made(plain: type[Value], *, kw_only: bool) -> type[Value]:
    """The class once more, with slots for its fields and the methods all values share."""
    inherited: Mapping[str, _Field] = getattr(plain, "__value_fields__", {})
    own: dict[str, _Field] = {}
    for name, type_ in plain.__annotations__.items():
        stated = plain.__dict__.get(name, _NOTHING)
        own[name] = stated if isinstance(stated, _Field) else _Field(stated)
        own[name].belongs(name, type_, kw_only=kw_only)
    every = {**inherited, **own}
    replaced = {*own, "__dict__", "__weakref__"}
    body = _SHARED | {
        "__slots__": tuple(name for name in own if name not in inherited),
        "__value_fields__": every,
        "__match_args__": tuple(name for name, item in every.items() if not item.kw_only),
    }
    left = _FEW

    def first(self: Any, /, *args: object, **options: object) -> None:
        nonlocal left
        left -= 1
        if left < 0 or not _filled(made, self, args, options):
            made.__init__ = _initializer(made)  # from now on the compiled one
            made.__init__(self, *args, **options)

    body |= {name: item for name, item in plain.__dict__.items() if name not in replaced}
    body |= {"__init__": first, "__qualname__": plain.__qualname__}  # setting them later is slow
    made: Any = type(plain.__name__, plain.__bases__, body)
    turned: type[Value] = made
    return turned


def _filled(
    cls: Any, self: object, args: tuple[object, ...], options: Mapping[str, object]
) -> bool:
    """Set every field without compiling anything; False where the arguments do not fit."""
    named, every = cls.__match_args__, cls.__value_fields__
    given = dict(zip(named, args, strict=False)) | dict(options)
    if len(given) < len(args) + len(options) or not given.keys() <= every.keys():
        return False
    for name, item in every.items():
        value = given.get(name, _NOTHING)
        if value is _NOTHING:
            value = item.default if item.default_factory is None else item.default_factory()
        if value is _NOTHING:
            return False
        getattr(cls, name).__set__(self, value)
    return True


def _initializer(cls: Any) -> Callable[..., None]:
    """`__init__` with the fields as its parameters, compiled from its text as the standard does."""
    known: dict[str, Any] = {"_NOTHING": _NOTHING}
    positional, named, lines = ["self"], list[str](), list[str]()
    for name, item in cls.__value_fields__.items():
        known[f"_set_{name}"] = getattr(cls, name).__set__  # the slot: assignment is refused
        parameter = value = name
        if item.default_factory is not None:
            known[f"_make_{name}"] = item.default_factory
            parameter = f"{name}=_NOTHING"
            value = f"_make_{name}() if {name} is _NOTHING else {name}"
        elif item.default is not _NOTHING:
            known[f"_default_{name}"] = item.default
            parameter = f"{name}=_default_{name}"
        (named if item.kw_only else positional).append(parameter)
        lines.append(f"    _set_{name}(self, {value})")
    parameters = ", ".join([*positional, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({parameters}):", *(lines or ["    pass"])]), known)  # noqa: S102  # our own names
    compiled: Callable[..., None] = known["__init__"]
    types = {name: item.type for name, item in cls.__value_fields__.items()}
    compiled.__annotations__ = types | {"return": None}
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    return compiled


class _OnDemand:
    """An attribute of a class that is worked out when somebody asks for it."""

    def __init__(self, work_out: Callable[[Any], object]) -> None:
        self._work_out = work_out

    def __get__(self, instance: object, owner: type) -> object:
        return self._work_out(owner)


def _standard_fields(cls: Any) -> Mapping[str, object]:
    """What makes the standard library's functions see a dataclass."""
    import dataclasses

    stated = []
    for item in _fields(cls):
        options: dict[str, Any] = {"repr": item.repr, "kw_only": item.kw_only}
        if item.default_factory is not None:
            options["default_factory"] = item.default_factory
        elif item.default is not _NOTHING:
            options["default"] = item.default
        stated.append((item.name, item.type, dataclasses.field(**options)))
    standard = dataclasses.make_dataclass(cls.__name__, stated)
    return {item.name: item for item in dataclasses.fields(standard)}


def _signature(cls: Any) -> "inspect.Signature":
    """What `help` and `inspect` show."""
    import inspect

    signature = inspect.signature(_initializer(cls))
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def _state(self: Any) -> list[object]:
    return list(_held(self.__class__)(self))


def _restore(self: Any, state: list[object]) -> None:
    for name, held in zip(self.__value_fields__, state, strict=True):
        getattr(type(self), name).__set__(self, held)


def _equal(self: Any, other: object) -> Any:  # or NotImplemented
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = _held(self.__class__)
    return read(self) == read(other)


def _hash(self: Any) -> int:
    return hash(_held(self.__class__)(self))


def _repr(self: Any) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in _fields(self) if item.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(_self: object, name: str, *_value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(
        f"cannot change {name!r}: a value is frozen; make another one with replace()"
    )


_SHARED: dict[str, object] = {
    "__dataclass_fields__": _OnDemand(_standard_fields),
    "__signature__": _OnDemand(_signature),
    "__getstate__": _state,
    "__setstate__": _restore,
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _repr,
    "__replace__": _replace,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}

if not TYPE_CHECKING:
    dataclass, field, fields, replace = _dataclass, _field, _fields, _replace
