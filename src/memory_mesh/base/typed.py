"""Names of `typing` without its start-up price, which is a sixth of a bare interpreter's.

Type checkers read the real names. At run time annotations are evaluated, but nobody asks for them,
so each name is the cheapest thing that can stand in an annotation.
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
    "described",
    "option_types",
]

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
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
    ClassVar = Generic = Literal = _Form


def described(options: type) -> dict[str, str]:
    """What each option of a TypedDict is, by name; those of its bases come first."""
    return {name: kind.__metadata__[0] for name, kind in option_types(options).items()}


def option_types(options: type) -> dict[str, Any]:
    """The annotation of each option of a TypedDict."""
    found: dict[str, Any] = {}
    for home in reversed(options.__mro__):
        found |= vars(home).get("__annotations__", {})
    return found
