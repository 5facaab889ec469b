"""Our frozen values are the standard library's, only cheaper to define."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from memory_mesh.base.typed import dataclass, field, fields, replace
from memory_mesh.model import Draft, Keep, Memory, Put, Scope


@dataclass(frozen=True, slots=True)
class Ours:
    number: int
    word: str = "w"
    notes: dict[str, int] = field(default_factory=dict)
    secret: str = field(default="s", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OursBelow(Ours):
    flag: bool = False
    word: str = "below"


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    number: int
    word: str = "w"
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    secret: str = dataclasses.field(default="s", repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardBelow(Standard):
    flag: bool = False
    word: str = "below"


TWINS = pytest.mark.parametrize(
    ("ours", "standard"), [(Ours, Standard), (OursBelow, StandardBelow)]
)


@TWINS
def test_signature_and_matching_are_the_standard_ones(ours, standard):
    named = [(p.name, p.kind) for p in inspect.signature(standard).parameters.values()]
    assert [(p.name, p.kind) for p in inspect.signature(ours).parameters.values()] == named
    assert ours.__match_args__ == standard.__match_args__
    assert [item.name for item in fields(ours)] == [
        item.name for item in dataclasses.fields(standard)
    ]


@TWINS
@given(number=st.integers(), word=st.text(), notes=st.dictionaries(st.text(), st.integers()))
def test_values_behave_as_the_standard_ones(ours, standard, number, word, notes):
    one, other = ours(number, word=word, notes=notes), standard(number, word=word, notes=notes)
    assert repr(one).replace("Ours", "Standard") == repr(other)
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert one == ours(number, word=word, notes=dict(notes))
    assert one != ours(number + 1, word=word, notes=notes)
    assert one != other
    assert replace(one, number=1) == dataclasses.replace(one, number=1)
    assert replace(one, number=1) == ours(1, word=word, notes=notes)


def test_a_kind_that_is_copied_often_is_copied_as_before():
    value = Draft(text="a", tags=("b",))
    for turn in range(100):
        copied = replace(value, text=f"{turn}", label="c")
        assert copied == Draft(text=f"{turn}", tags=("b",), label="c")
        assert (value.text, value.label) == ("a", None)
        assert replace(value) == value
        with pytest.raises(TypeError, match="nothing_of_the_kind"):
            replace(value, nothing_of_the_kind=1)  # type: ignore[call-arg]  # no such field


def test_a_factory_makes_a_new_default_for_each_value():
    assert Ours(1).notes is not Ours(1).notes


def test_the_hash_is_that_of_the_fields():
    assert hash(Scope("p")) == hash(Scope(project="p"))
    assert len({Scope("p"), Scope("p"), Scope("q")}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours(1))


@pytest.mark.parametrize(
    "value", [Ours(1, notes={"a": 1}), OursBelow(2, flag=True), Keep(), Scope()]
)
def test_values_are_copied_and_pickled(value):
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_nothing_can_be_changed_or_added():
    value = Ours(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.number = 2  # type: ignore[misc]  # that is the point
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.word
    with pytest.raises(AttributeError):
        object.__setattr__(value, "other", 1)
    assert not hasattr(value, "__dict__")


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match=r"Scope\.__init__\(\) got an unexpected keyword"):
        Scope(team="x")  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'number'"):
        Ours()  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match="positional"):
        Draft("text")  # type: ignore[call-arg]  # that is the point


def test_patterns_take_a_value_apart():
    match OursBelow(7, word="x"):
        case OursBelow(number, notes, flag=flag):
            assert (number, notes, flag) == (7, {}, False)


def test_the_standard_library_sees_a_dataclass():
    assert dataclasses.is_dataclass(Memory)
    assert [item.name for item in dataclasses.fields(Put)] == ["memory", "wording", "reasons"]


def test_only_the_frozen_slotted_kind_is_made():
    with pytest.raises(TypeError, match="frozen and slotted"):
        dataclass(frozen=True, slots=False)


def test_making_values_loads_neither_dataclasses_nor_inspect():
    code = (
        "import sys; from memory_mesh.model import Scope, Draft\n"
        "from memory_mesh.base.typed import replace\n"
        "replace(Draft(text='x'), text='y'); repr(Scope()); hash(Scope())\n"
        "sys.exit('dataclasses' in sys.modules or 'inspect' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
