"""Public classes and functions as their source states them: signatures, docstrings, fields."""

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from memory_mesh.mesh import options as shared_options
from memory_mesh.mesh.operation import Operation

_SECTION = re.compile(r"\n\s*Options:\n(?P<lines>.*)\Z", re.DOTALL)
_LINE = re.compile(r"^\s+(\w+): (.+?)\.?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter: its type and default as they are written, and what it means."""

    name: str
    kind: str
    default: str | None
    keyword_only: bool
    about: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function or a method."""

    name: str
    arguments: tuple[Argument, ...]
    returns: str
    about: str
    is_property: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a value, with the comment behind it."""

    name: str
    kind: str
    default: str | None
    about: str


@cache
def call_of(function: Callable[..., object] | property) -> Call:
    """What the source says of a function, a method or a property."""
    is_property = isinstance(function, property)
    found = function.fget if isinstance(function, property) else function
    node = _parsed(inspect.unwrap(found))  # type: ignore[arg-type]  # a property has a getter
    text, options = _documented(ast.get_docstring(node) or "")
    returns = ast.unparse(node.returns) if node.returns else "None"
    arguments = tuple(_arguments(node.args, options, inspect.unwrap(found)))  # type: ignore[arg-type]  # as above
    return Call(node.name, arguments, _plain(returns), text, is_property)


def calls_of(owner: type, *, inherited: bool = False) -> list[Call]:
    """The public methods and properties that a class itself defines, in the order of its source.

    An alias (`ingest = add`) is listed under its own name.
    """
    homes = [home for home in reversed(owner.__mro__) if inherited or home is owner]
    found = {name: value for home in homes for name, value in vars(home).items()}
    return [
        _renamed(call_of(value), name)
        for name, value in found.items()
        if not name.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, Operation | property))
    ]


@cache
def fields_of(owner: type) -> tuple[Field, ...]:
    """The fields of a value, or the members of an enumeration, those of its bases included."""
    found: dict[str, Field] = {}
    for home in reversed(owner.__mro__):
        if home.__module__.startswith("memory_mesh"):
            found |= {field.name: field for field in _own_fields(home)}
    return tuple(found.values())


def summary(owner: object) -> str:
    """The docstring, without its section of options."""
    return _documented(inspect.getdoc(owner) or "")[0]


@cache
def _own_fields(owner: type) -> tuple[Field, ...]:
    return tuple(_read_fields(owner))


def _read_fields(owner: type) -> Iterator[Field]:
    source = textwrap.dedent(inspect.getsource(owner))
    lines, (node,) = source.splitlines(), ast.parse(source).body
    assert isinstance(node, ast.ClassDef)  # noqa: S101  # it is the source of a class
    for each in node.body:
        about = _comment(lines[each.end_lineno - 1]) if each.end_lineno else ""
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            value = ast.unparse(each.value) if each.value else None
            kind = ast.unparse(each.annotation)
            if not each.target.id.startswith("_") and "ClassVar" not in kind:
                yield Field(each.target.id, _plain(kind), _default(value), about)
        elif issubclass(owner, enum.Enum) and isinstance(each, ast.Assign):
            yield Field(ast.unparse(each.targets[0]), "", ast.unparse(each.value), about)


def _comment(line: str) -> str:
    """What a comment at the end of a line says; a pointer of a linter says nothing."""
    said = line.partition("  # ")[2]
    return "" if said.startswith(("noqa", "type:")) else said


def _default(value: str | None) -> str | None:
    if value is None or not value.startswith("field("):
        return value
    stated = re.search(r"\bdefault=([^,]+?)(?=, \w+=|\)$)", value)
    made = re.search(r"default_factory=(\w+)", value)
    if stated:
        return stated[1]
    return {"dict": "{}", "list": "[]", "tuple": "()"}.get(made[1], made[1]) if made else None


def _parsed(function: Callable[..., object]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101  # a function's
    return node


def _documented(docstring: str) -> tuple[str, dict[str, str]]:
    section = _SECTION.search(docstring)
    if section is None:
        return docstring.strip(), {}
    return docstring[: section.start()].strip(), dict(_LINE.findall("\n" + section["lines"]))


def _arguments(
    given: ast.arguments, options: dict[str, str], function: Callable[..., object]
) -> Iterator[Argument]:
    """The arguments, those of a TypedDict too, each with what is said of it or of its type."""
    named = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(named) - len(given.defaults)) + list(given.defaults)
    pairs = [(one, default, False) for one, default in zip(named, defaults, strict=True)]
    pairs += [
        (one, default, True)
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    for one, default, keyword_only in pairs:
        if one.arg not in {"self", "cls"}:
            kind, about = _annotation(one.annotation)
            value = ast.unparse(default) if default else None
            yield Argument(one.arg, kind, value, keyword_only, options.get(one.arg, about))
    if given.kwarg is not None and isinstance(given.kwarg.annotation, ast.Subscript):
        name = ast.unparse(given.kwarg.annotation.slice)
        for home in reversed(function.__globals__[name].__mro__):
            if home.__module__.startswith("memory_mesh") and home.__name__ != "TypedDict":
                yield from _typed_options(home)


def _typed_options(owner: type) -> Iterator[Argument]:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)  # noqa: S101  # it is the source of a class
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            kind, about = _annotation(each.annotation)
            yield Argument(ast.unparse(each.target), kind, "None", keyword_only=True, about=about)


def _annotation(node: ast.expr | None) -> tuple[str, str]:
    """The type as it is written, and the line that describes it; an alias of options.py is read."""
    if isinstance(node, ast.Name) and node.id in _aliases():
        node = _aliases()[node.id]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated":
        assert isinstance(node.slice, ast.Tuple)  # noqa: S101  # a type and a text
        kind, about = node.slice.elts
        return _plain(ast.unparse(kind)), ast.literal_eval(about)
    return (_plain(ast.unparse(node)) if node else ""), ""


@cache
def _aliases() -> dict[str, ast.expr]:
    """The types of mesh/options.py by name."""
    found = {}
    for node in ast.parse(inspect.getsource(shared_options)).body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            found[ast.unparse(node.target)] = node.value
    return found


def _plain(kind: str) -> str:
    """A type without the quotes of a name that is imported late."""
    return kind.replace("'", "").replace('"', "") if "Literal" not in kind else kind


def _renamed(call: Call, name: str) -> Call:
    return Call(name, call.arguments, call.returns, call.about, call.is_property)
