"""Finds every regular expression of the source, and how it is used.

The calls of `re` are read from the syntax tree. A pattern is evaluated in its module; one that is
built inside a function is taken from what the function returns, and one that needs arguments from
`_GIVEN`. A call whose pattern is found in none of these ways is an error: nothing is left out.
"""

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, ModuleType

import memory_mesh

_ROOT = Path(memory_mesh.__file__).parent
_ALL = frozenset({"search", "match", "fullmatch", "finditer"})
_AS = {"findall": "finditer", "sub": "finditer", "subn": "finditer", "split": "finditer"}
_METHODS = _ALL | set(_AS)
_CALLS = _METHODS | {"compile"}
_DEPTH = 4  # how deep patterns stand in tables

Pattern = re.Pattern[str] | re.Pattern[bytes]


class NotCollected(Exception):
    """A call of `re` whose pattern this module cannot find."""


@dataclass(frozen=True)
class Expression:
    """One pattern of the source with the methods that are called on it."""

    where: str
    pattern: Pattern
    methods: frozenset[str]


@cache
def collected() -> tuple[Expression, ...]:
    """Returns every pattern of the source once, in the order of the files."""
    found: dict[tuple[str | bytes, int], Expression] = {}
    for name in _trees():
        for each in _of_module(name):
            key = (each.pattern.pattern, each.pattern.flags)
            known = found.get(key)
            methods = each.methods | (known.methods if known else frozenset())
            found[key] = Expression(known.where if known else each.where, each.pattern, methods)
    return tuple(replace(each, methods=each.methods or _ALL) for each in found.values())


def _of_module(name: str) -> Iterator[Expression]:
    module, tree = importlib.import_module(name), _trees()[name]
    where = name.removeprefix("memory_mesh.")
    for bound, value in vars(module).items():
        for pattern in _inside(value):
            lazy = getattr(value, "__qualname__", "").startswith("lazy_pattern.")
            yield Expression(where, pattern, _of_lazy(module, bound) if lazy else frozenset())
    for call, function in _calls(tree):
        place = f"{where}:{call.lineno}"
        method = _method(call)
        made = _patterns(call, function, module)
        if not made:
            raise NotCollected(f"{place}: say in tests/faults/pattern_sources.py how to build it")
        if direct := _uses(name).get(f"{call.lineno}:{call.col_offset}"):
            used = _alike(direct)
        elif using := _using(name, function):
            used = using[1]
        else:
            called = _AS.get(method, method)
            bound = _binding(name, call)
            used = _used(name, bound) if called == "compile" else frozenset({called})
        for pattern in made:
            yield Expression(place, pattern, used)


def _patterns(
    call: ast.Call, function: ast.FunctionDef | None, module: ModuleType
) -> Sequence[Pattern]:
    """The patterns that a call may have: evaluated, built by its function, or given."""
    names = vars(module) | {"re": re} | _locals(function, module)
    try:
        flags = eval(_code(_flags(call)), names)  # our own source
        said = [eval(_code(each), names) for each in _either(call.args[0])]
        return [each if isinstance(each, re.Pattern) else re.compile(each, flags) for each in said]
    except NameError:
        pass
    if function is None:
        return list(_inside(getattr(module, _binding(module.__name__, call), None)))
    if using := _using(module.__name__, function):
        return recorded(using[0])
    if function.args.args or function.args.kwonlyargs:
        return []
    return list(_inside(getattr(module, function.name)()))


def _either(node: ast.expr) -> list[ast.expr]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def _using(
    module: str, function: ast.FunctionDef | None
) -> "tuple[Callable[[], None], frozenset[str]] | None":
    where = f"{module.removeprefix('memory_mesh.')}.{function.name}" if function else ""
    return (_USING[where][0], frozenset({_USING[where][1]})) if where in _USING else None


def recorded(use: Callable[[], object]) -> list[Pattern]:
    """Returns the patterns that are compiled while `use` runs."""
    found, compiled = list[Pattern](), re._compile  # type: ignore[attr-defined]

    def compile_and_keep(pattern: str | Pattern, flags: int) -> Pattern:
        found.append(compiled(pattern, flags))
        return found[-1]

    re._compile = compile_and_keep  # type: ignore[attr-defined]
    try:
        use()
    finally:
        re._compile = compiled  # type: ignore[attr-defined]
    return found


def _locals(function: ast.FunctionDef | None, module: ModuleType) -> dict[str, object]:
    """The names that a function binds to what can be told without its arguments."""
    known: dict[str, object] = {}
    for node in ast.walk(function) if function else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with suppress(NameError, TypeError, AttributeError, KeyError):
                value = eval(_code(node.value), vars(module) | known)
                known[node.targets[0].id] = value
    return known


def _flags(call: ast.Call) -> ast.expr:
    said = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    at = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}
    place = at.get(_method(call), 99)
    return said[0] if said else call.args[place] if len(call.args) > place else ast.Constant(0)


def _code(node: ast.expr) -> CodeType:
    whole = ast.fix_missing_locations(ast.Expression(node))
    return compile(whole, "<pattern>", "eval")


def _inside(value: object, depth: int = _DEPTH) -> Iterator[Pattern]:
    """Yields the compiled patterns in a value: tables, dataclasses and bound methods too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(owner := getattr(value, "__self__", None), re.Pattern):
        yield owner
    elif getattr(value, "__qualname__", "").startswith("lazy_pattern."):
        yield value()  # type: ignore[operator]  # what lazy_pattern returns
    elif depth and isinstance(value, Mapping):
        for part in [*value.values()]:
            yield from _inside(part, depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _inside(part, depth - 1)


def _of_lazy(module: ModuleType, bound: str) -> frozenset[str]:
    """The methods that are called on a lazy pattern; none where that cannot be told."""
    own = inspect.getsource(module)
    if not bound.startswith("_"):
        return _used(module.__name__, bound)
    if re.search(rf"\b{bound}\b(?!\(\)\.| = )", own):
        return frozenset()
    return frozenset(_AS.get(each, each) for each in re.findall(rf"\b{bound}\(\)\.(\w+)\(", own))


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.FunctionDef | None]]:
    """Yields each call of `re` with the innermost function around it."""
    around: list[tuple[ast.AST, ast.FunctionDef | None]] = [(tree, None)]
    while around:
        node, function = around.pop()
        if isinstance(node, ast.Call) and _method(node) in _CALLS and _is_re(node):
            yield node, function
        inner = node if isinstance(node, ast.FunctionDef) else function
        around += [(child, inner) for child in ast.iter_child_nodes(node)]


def _is_re(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and (
        isinstance(function.value, ast.Name) and function.value.id == "re"
    )


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


@cache
def _bindings(module: str) -> dict[tuple[int, int], str]:
    """The names under which compiled patterns are reached, by the place of the call."""
    names: dict[tuple[int, int], str] = {}

    def bind(value: ast.AST, name: str) -> None:
        for part in ast.walk(value):
            if isinstance(part, ast.Call):
                names[part.lineno, part.col_offset] = name

    for node in ast.walk(_trees()[module]):
        if isinstance(node, ast.FunctionDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Call):
                    names[inner.value.lineno, inner.value.col_offset] = node.name
    for node in _trees()[module].body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            bind(node.value, node.targets[0].id)
    return names


def _binding(module: str, call: ast.Call) -> str:
    return _bindings(module).get((call.lineno, call.col_offset), "")


def _used(module: str, name: str) -> frozenset[str]:
    """The methods that are called on a name; every method where that cannot be told."""
    modules = [module] if name.startswith("_") else list(_trees())
    used = {method for each in modules for method in _uses(each).get(name, ())} if name else set()
    return _alike(used or _loose(module)) or _ALL


def _alike(methods: Iterable[str]) -> frozenset[str]:
    return frozenset(_AS.get(method, method) for method in methods)


@cache
def _loose(module: str) -> frozenset[str]:
    """The methods that a module calls on what is bound in its functions; texts too are split."""
    bound = {*_bindings(module).values(), "re"}
    others = [used for name, used in _uses(module).items() if name not in bound]
    return frozenset(method for used in others for method in used if method != "split")


@cache
def _uses(module: str) -> dict[str, set[str]]:
    """The methods that a module calls on what a name holds or returns."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(_trees()[module]):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            value = node.value.func if isinstance(node.value, ast.Call) else node.value
            said = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
            if isinstance(node.value, ast.Call) and _is_re(node.value):
                said = f"{node.value.lineno}:{node.value.col_offset}"
            used.setdefault(said, set()).add(node.attr)
    return used


def _source(name: str) -> str:
    """The text of a module, which may need a package that is not here."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


@cache
def _trees() -> dict[str, ast.Module]:
    """The syntax trees of the modules that use patterns."""
    trees = {}
    for name in _module_names():
        text = _source(name)
        if ".adapters." in name and "import re\n" not in text:
            continue  # it may need a framework that is not here
        if name.endswith("base.lazy_pattern"):
            continue  # its patterns are where it is called
        if "lazy_pattern(" in text or any(f".{method}" in text for method in _CALLS):
            trees[name] = ast.parse(text)
        if "from re import" in text or "import re as" in text:
            raise NotCollected(f"{name}: write `import re`, so that its patterns are found")
    return trees


@cache
def _module_names() -> tuple[str, ...]:
    found = pkgutil.walk_packages([str(_ROOT)], "memory_mesh.")
    return tuple(sorted(info.name for info in found if not info.name.endswith("__main__")))


def _names() -> None:
    from memory_mesh.privacy import private_names as module

    people = [("alice", "Alice Jones-Smith", "/home/alice"), ("joao", "João Ávila", "/Users/joao")]
    people += [("yuki", "山田 太郎", "/home/yuki"), ("anna", "Анна Иванова", "C:\\Users\\anna")]
    for account, name, home in people:
        who = module.Person(accounts=(account,), full_names=(name,), homes=(home,), always=(name,))
        module._rule(who)


def _rules() -> None:
    from memory_mesh.privacy.scan import _Prepared
    from memory_mesh.privacy.table import RULES

    for rule in RULES:
        _Prepared(rule)._compiled()


def _tongues() -> None:
    from memory_mesh.text.times import languages

    for name in [*languages.TONGUES, *languages.EUROPEAN_TONGUES]:
        languages._patterns.__wrapped__(name)


def _secrets() -> None:
    from memory_mesh.models.http.client import redacted

    redacted("Bearer abcabcabc-abcabcabc-xyz", ["abcabcabc-abcabcabc-xyz", "aaaaaaaaaaaaaaaa"])


def _anchored() -> None:
    from memory_mesh.privacy import logins, spoken
    from memory_mesh.privacy.scan import Anchored
    from memory_mesh.privacy.table import RULES

    found = [rule.pattern for rule in RULES if isinstance(rule.pattern, Anchored)]
    for each in (*found, logins._COOKIE, spoken._Codes()._words):
        Anchored((), each._pattern).compiled()


def _commands() -> None:
    from memory_mesh.privacy import logins

    for _, pattern, _ in logins._Commands()._rows:
        re.compile(pattern)


def _asked_without_names() -> None:
    from memory_mesh.text import question

    question._without("What did Anna say to Bob Smith?", {"anna", "bob smith", "bob"})


def _placeholders() -> None:
    from memory_mesh.privacy.table import SCANNER

    SCANNER._without_placeholders("[EMAIL]")


def _documents() -> None:
    from memory_mesh.care import moves

    with TemporaryDirectory() as folder:
        page = Path(folder, "page.md")
        page.write_text("related: [tea-in-drawer, pot]\n", encoding="utf-8")
        moves._erase_documents(page, frozenset(), ["tea-in-drawer", "pot"])


def _quotes() -> None:
    from memory_mesh.learn.rules import extraction

    extraction._span("We host the shop in Oslo.", "host the shop")


def _names_around() -> None:
    from memory_mesh.evidence import citations

    citations._is_named(citations.SourceText("a.py", "class Queue:"), 1, "Queue.pop")


def _names_of_before() -> None:
    from memory_mesh.evidence import citations

    citations._renamed("class Stack:", "Stack", "Queue")


def _migrations() -> None:
    from memory_mesh.ledgers.postgres import setup

    setup._statements(8, "place_0001")


_USING: Mapping[str, tuple[Callable[[], None], str]] = {
    "ledgers.postgres.setup._statements": (_migrations, "sub"),
    "evidence.citations._renamed": (_names_of_before, "sub"),
    "evidence.citations._is_named": (_names_around, "search"),
    "care.moves._erase_documents": (_documents, "sub"),
    "learn.rules.extraction._span": (_quotes, "search"),
    "models.http.client.redacted": (_secrets, "finditer"),
    "privacy.scan.compiled": (_anchored, "match"),
    "privacy.logins.finditer": (_commands, "finditer"),
    "privacy.private_names.__init__": (_names, "finditer"),
    "privacy.scan._compiled": (_rules, "finditer"),
    "privacy.scan._without_placeholders": (_placeholders, "finditer"),
    "text.question._without": (_asked_without_names, "finditer"),
    "text.times.languages._patterns": (_tongues, "finditer"),
}
