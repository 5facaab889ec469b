"""JSON without `re`: the same values as the package json, in both directions."""

import json

import pytest
from hypothesis import given, strategies as st

from memory_mesh.agents import request

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(VALUES)
def test_a_value_comes_back_and_is_what_the_package_reads(value):
    text = request.dumps(value)
    assert request.loads(text) == value == json.loads(text)
    assert text.isascii()
    assert "\n" not in text


@given(st.text())
def test_a_text_is_read_or_refused_as_the_package_does(text):
    try:
        expected = json.loads(text.strip(" \t\r\n"))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            request.loads(text)
    else:
        assert repr(request.loads(text)) == repr(expected)  # NaN is not equal to itself


@pytest.mark.parametrize("text", ["", "{", "{} {}", '{"a":1', "[" * 100_000, "nul"])
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        request.loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_refused(value):
    with pytest.raises(ValueError, match="float"):
        request.dumps({"a": value})


def test_an_object_that_is_no_value_is_refused():
    with pytest.raises(TypeError, match="bytes"):
        request.dumps({"a": b"x"})
