"""Every argument of every public method: what cannot be stored or is too long is InvalidInput."""

import inspect

import pytest

from memory_mesh.formats import json_text
from memory_mesh.model.errors import InvalidInput, MeshError
from memory_mesh.sync import MemoryMesh
from tests.operations import operations, reach

HUGE = 10**5000
ENDS = {"close"}
BAD = {
    "a number of 5,000 digits": HUGE,
    "half a pair": "\ud800",
    "20 million letters": "x" * 20_000_001,
}
FREE = ("bool", "Callable", "object")  # anything is true, and a caller's own object is the caller's


def _methods():
    for name, method in operations(MemoryMesh).items():
        if name not in ENDS:
            yield name, list(inspect.signature(method).parameters.values())[1:]


def _plain(parameter):
    said = str(parameter.annotation)
    if "int" in said:
        return 1
    return [] if "Iterable" in said or "Sequence" in said else "The deploy port is 8080."


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize("kind", BAD)
def test_no_argument_takes_what_cannot_be_stored(mesh, kind):
    """Whatever is not refused is at least no error of another kind."""
    broken = []
    for name, parameters in _methods():
        needed = {
            each.name: _plain(each)
            for each in parameters
            if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
        }
        for each in parameters:
            if each.kind in {each.VAR_KEYWORD, each.VAR_POSITIONAL} or _is_free(each):
                continue
            try:
                reach(mesh, name)(**(needed | {each.name: BAD[kind]}))
            except MeshError:
                continue
            except Exception as error:  # noqa: BLE001  # the test lists them all
                broken.append(f"{name}({each.name}): {type(error).__name__}: {error!s:.80}")
    assert not broken


@pytest.mark.parametrize(
    "wrong",
    [[["a"]], ("a",), [1], [object()], {"a": 1}, b"bytes", "a text", 7, [None]],
    ids=("lists", "one text", "numbers", "objects", "a mapping", "bytes", "text", "number", "none"),
)
def test_a_value_of_another_type_is_invalid_input(mesh, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file
    broken = []
    for name, parameters in _methods():
        known = [
            each for each in parameters if each.kind not in {each.VAR_KEYWORD, each.VAR_POSITIONAL}
        ]
        needed = {each.name: _plain(each) for each in known if each.default is each.empty}
        for each in known:
            try:
                reach(mesh, name)(**(needed | {each.name: wrong}))
            except MeshError:
                continue
            except Exception as error:  # noqa: BLE001  # the test lists them all
                broken.append(f"{name}({each.name}): {type(error).__name__}: {error!s:.80}")
    assert not broken


def _is_free(parameter):
    return any(word in str(parameter.annotation) for word in FREE)


@pytest.mark.parametrize(
    "metadata", [{"a": HUGE}, {"a": 2**63}, {"\ud800": 1}, {"a": ["\udfff"]}, {"a": -(2**70)}]
)
def test_metadata_takes_no_number_beyond_64_bits_and_no_half_a_pair(mesh, metadata):
    with pytest.raises(InvalidInput):
        mesh.add("The deploy port is 8080.", metadata)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tags", ["a"] * 257),
        ("tags", ["a" * 513]),
        ("kind", "k" * 513),
        ("speaker", "s" * 513),
        ("key", "k" * 513),
        ("source_ref", "r" * 513),
        pytest.param("importance", HUGE, id="importance"),
        ("order", 2**63),
        ("derived_from", ["m"] * 10_001),
    ],
)
def test_details_have_limits(mesh, name, value):
    with pytest.raises(InvalidInput, match=r"\d|tags|ids|bits"):
        mesh.add("The deploy port is 8080.", **{name: value})


def test_a_question_and_a_reason_have_limits(mesh):
    with pytest.raises(InvalidInput, match="200000"):
        mesh.search("port " * 50_000)
    memory = mesh.add("The deploy port is 8080.")
    with pytest.raises(InvalidInput, match="2000"):
        mesh.delete(memory.id, reason="r" * 2_001)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 65 + "]" * 65,
        "9" * 5_000,
        f"[{2**64}]",
        '"\\ud800"',
        "NaN",
        "{",
        b"\xff",
    ],
)
def test_json_of_others_is_refused_in_words(text):
    with pytest.raises(json_text.JsonFault, match=r"\w+ \w+"):
        json_text.read(text)


def test_json_of_others_is_read():
    assert json_text.read('{"a": [1, 2.5, null, "é"]}') == {"a": [1, 2.5, None, "é"]}
