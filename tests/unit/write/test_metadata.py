import pytest
from hypothesis import given, strategies as st

from memory_mesh.model.errors import InvalidInput
from memory_mesh.rules.arguments import (
    METADATA_CHARS,
    METADATA_DEPTH,
    METADATA_ITEMS,
    check_metadata,
    check_text,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
KEYS = TEXT.filter(lambda key: not key.startswith("__")).filter(
    lambda key: key not in {"constructor", "prototype"}
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_json_values_pass_unchanged(metadata):
    assert check_metadata(metadata) == metadata


@pytest.mark.req("R-000-258")
@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype", "__class__", "__x__"])
@pytest.mark.parametrize(
    "place", [lambda k: {k: 1}, lambda k: {"a": {k: 1}}, lambda k: {"a": [{k: 1}]}]
)
def test_keys_that_could_bite_are_refused_at_any_depth(key, place):
    with pytest.raises(InvalidInput, match="not allowed"):
        check_metadata(place(key))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "must be an object"),
        ({1: 2}, "must be text"),
        ({"a": b"bytes"}, "JSON cannot represent"),
        ({"a": {1, 2}}, "JSON cannot represent"),
        ({"a": float("nan")}, "JSON cannot represent"),
        ({"a": float("inf")}, "JSON cannot represent"),
        ({"a": "\0"}, "NUL"),
        ({"a\0": 1}, "NUL"),
        ({"a": "\ud800"}, "surrogate"),
        ({"k" * 257: 1}, "characters"),
        ({"a": "x" * (METADATA_CHARS + 1)}, "too large"),
        ({"a": [0] * (METADATA_ITEMS + 1)}, "too large"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value, said):
    with pytest.raises(InvalidInput, match=said):
        check_metadata(value)


def test_depth_is_capped():
    nested: object = 1
    for _ in range(METADATA_DEPTH):
        nested = [nested]
    with pytest.raises(InvalidInput, match="deeper"):
        check_metadata({"a": nested})


def test_the_copy_does_not_follow_later_changes_of_the_caller():
    inner = {"b": [1]}
    checked = check_metadata({"a": inner})
    inner["b"].append(2)
    assert checked == {"a": {"b": [1]}}


@pytest.mark.parametrize("value", [None, 3, b"x", "\0", "\udfff"])
def test_only_storable_text_is_text(value):
    with pytest.raises(InvalidInput, match="content"):
        check_text(value, "content")
