"""Finds the files and symbols of a repository that a text names, so that a memory can cite them.

A file is named by its path, or by the end of it where that is one file only. A symbol is named by a
word that looks like code (`push_all`, `pushAll`, `Queue.push`, `push()`, or in backticks) where one
file alone defines it. Git is asked twice at most: for the files, and for those that hold the words.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.evidence.citations import Citation
from memory_mesh.evidence.definitions import named
from memory_mesh.evidence.work_tree import WorkTree

MOST_CHARS = 4_000  # of a text that is read
MOST = 6  # places that one text is taken to name
_MOST_SYMBOLS = 8
_MOST_FILES = 12  # that are looked at for one symbol


def named_in(folder: str, text: str) -> list[Citation]:
    """The places of a folder's work tree that a text names; none outside of any."""
    tree = WorkTree.at(folder)
    return [] if tree is None else mentioned(tree, text)


def mentioned(tree: WorkTree, text: str) -> list[Citation]:
    """The places that a text names, each once: a symbol stands for its file as well."""
    text = _addresses().sub(" ", text[:MOST_CHARS])
    symbols = list(dict.fromkeys(_symbols(text)))[:_MOST_SYMBOLS]
    tokens = list(dict.fromkeys(_tokens(text)))
    if not symbols and not tokens:
        return []
    files = tree.files()
    paths = list(dict.fromkeys(_paths(text, tokens, files)))
    found: list[Citation] = []
    for symbol in symbols:
        one = _defined(tree, symbol, paths) if symbol not in paths else None
        if one is not None:
            found.append(one)
    known = {one.path for one in found}
    found += [Citation(path=path) for path in paths if path not in known]
    return found[:MOST]


def _tokens(text: str) -> Iterator[str]:
    """The words that may be paths."""
    for token in _path_words().findall(text.replace("\\", "/")):
        bare = token.rstrip(".,:;!?")
        if "/" in bare or "." in bare[1:] or bare[:1].isupper():
            yield bare


def _paths(text: str, tokens: Sequence[str], files: Sequence[str]) -> Iterator[str]:
    known = set(files)
    for path in files:
        if " " in path and path in text:
            yield path
    for token in tokens:
        token = token.removeprefix("./")  # noqa: PLW2901  # the same word
        if token in known:
            yield token
            continue
        ends = [path for path in files if path.endswith(f"/{token}")]
        if len(ends) == 1:
            yield ends[0]


def _symbols(text: str) -> Iterator[str]:
    for quoted, plain in _names().findall(text):
        name = (quoted or plain).strip().removesuffix("()")
        looks_like_code = bool(quoted) or plain.endswith("()") or _is_code(name)
        if looks_like_code and _symbol().fullmatch(name):
            yield name


def _is_code(name: str) -> bool:
    """Whether a word is not one of plain language: joined by signs, or by capitals inside."""
    parts = [part for part in _joints().split(name) if part]
    if len(parts) > 1:
        return all(part[:1].isalpha() for part in parts)
    inner = name.strip("_")
    return "_" in inner or any(
        small.islower() and capital.isupper() for small, capital in pairwise(name)
    )


def _defined(tree: WorkTree, symbol: str, paths: Sequence[str]) -> Citation | None:
    """The one place that defines a symbol; a file that the text names goes first."""
    last = _joints().split(symbol)[-1]
    holding = tree.holding([last])
    for among in ([path for path in holding if path in paths], holding[:_MOST_FILES]):
        places = [
            Citation(path=path, symbol=one.name)
            for path in among
            if (file := tree.file(path)) is not None
            for one in named(file.definitions, symbol)[:1]
            if one.name.endswith(last) and not _is_local(one.name, file.path, symbol)
        ]
        if len(places) == 1:
            return places[0]
    return None


def _is_local(name: str, path: str, symbol: str) -> bool:
    """Whether a name is one inside of a function or a document, which is not what is meant."""
    deeper = len(_joints().split(name)) - len(_joints().split(symbol))
    return deeper > 1 or path.endswith((".md", ".txt", ".rst"))


_addresses = lazy_pattern(r"\w+://\S+")
_path_words = lazy_pattern(r"[\w@./~-]*[\w]+")
_names = lazy_pattern(r"`([^`\n]{1,80})`|((?<![\w/.-])[A-Za-z_][\w.:]*\w(?:\(\))?)(?![\w/-])")
_symbol = lazy_pattern(r"[A-Za-z_][\w]*(?:(?:\.|::)[A-Za-z_]\w*)*")
_joints = lazy_pattern(r"\.|::")
