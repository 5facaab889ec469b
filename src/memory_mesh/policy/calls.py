"""Checks the arguments of public methods before they run.

Most methods check what matters to them. This catches the rest in one place: a value of a type that
the signature does not have, a number that no store takes, a text that is no text, one that is too
long. All of them are InvalidInput.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps

from memory_mesh.errors import InvalidInput
from memory_mesh.policy.arguments import check_text
from memory_mesh.policy.users import USER_WORDS
from memory_mesh.policy.writing.limits import INTEGER, LONGEST, TEXT_CHARS
from memory_mesh.typed import Any, TypeVar

_Signature = tuple[tuple[str, ...], dict[str, tuple[tuple[type, ...], tuple[type, ...]]]]
Method = TypeVar("Method", bound="Callable[..., Any]")
_OWN = frozenset({"content", "items", "metadata"})  # `add` says more about what is wrong with them
_SAID = frozenset({"also", "channel"})  # whose method says more about a wrong type
_SERIES = (Iterable, Sequence, Collection)  # a text is none, though it has letters
_ANY_OPTION = 0x08  # inspect.CO_VARKEYWORDS, without loading inspect
_FREE = (object, bool)  # anything may stand for true


def checked(method: Method) -> Method:
    """Decorates a method whose arguments are checked against its signature."""
    asked: list[_Signature] = []  # read at the first call: most methods are never called

    @wraps(method)
    def call(self: object, *arguments: object, **options: object) -> object:
        if not asked:
            asked.append(_signature(method))
        positional, kinds = asked[0]
        for name, value in zip(positional, arguments, strict=False):
            _check(name, value, *kinds[name])
        for name, value in options.items():
            if name not in kinds and name not in USER_WORDS and not _takes_any(method):
                from memory_mesh.policy.option_names import unknown_option

                raise unknown_option(f"MemoryMesh.{method.__name__}()", name, kinds)
            _check(name, value, *kinds.get(name, ((), ())))
        return method(self, *arguments, **options)

    return call  # type: ignore[return-value]  # the same signature


def _takes_any(method: Callable[..., object]) -> bool:
    return bool(_plain(method).__code__.co_flags & _ANY_OPTION)


def _plain(method: Callable[..., object]) -> Any:  # noqa: ANN401  # any function
    """The method without its decorators."""
    inner: Any = method
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    return inner


def _signature(method: Callable[..., object]) -> _Signature:
    """The names of a method's positional arguments, and what each argument may be and hold."""
    inner = _plain(method)
    code, notes = inner.__code__, inner.__annotations__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    kinds = {name: (_classes(notes.get(name)), _classes_inside(notes.get(name))) for name in names}
    return code.co_varnames[1 : code.co_argcount], kinds


def _check(
    name: str, value: object, classes: tuple[type, ...], inside: tuple[type, ...] = ()
) -> None:
    if classes and name not in _SAID and not _fits(value, classes):
        words = " or ".join(dict.fromkeys(_word(each) for each in classes))
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
    if float in classes and isinstance(value, int):
        return True
    return isinstance(value, classes)


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


def _word(kind: type) -> str:
    return _WORDS.get(kind, f"a {kind.__name__}")


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
