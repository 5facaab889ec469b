"""The filters of tests/corpora/filters.py select what they say, or say what is allowed."""

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from memory_mesh.base.typed import Any
from memory_mesh.model.errors import FilterError
from memory_mesh.rules.filter_fields import canonical
from memory_mesh.rules.filters import parse
from tests.corpora.filters import RIGHT, WRONG, Right, Wrong

BOTH = [row for row in RIGHT if row.mapping is not None and row.text is not None]


def _id(row: Right | Wrong) -> str:
    given = row.given if isinstance(row, Wrong) else row.mapping or row.text
    return ascii(given)[:60]


@pytest.mark.req("R-000-259")
@pytest.mark.parametrize("row", BOTH, ids=_id)
def test_text_mapping_and_json_make_the_same_tree(row: Right) -> None:
    tree = parse(row.mapping)
    assert parse(row.text) == tree
    assert parse(json.dumps(row.mapping)) == tree
    assert canonical(parse(canonical(tree))) == canonical(tree)


@pytest.mark.req("R-000-261")
@pytest.mark.parametrize("row", WRONG, ids=_id)
def test_a_wrong_filter_is_told_what_is_allowed(row: Wrong) -> None:
    with pytest.raises(FilterError) as refusal:
        parse(row.given)
    assert row.says in str(refusal.value)
    assert str(refusal.value).isprintable()


SIGNS = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
NAMES = st.sampled_from(["team", "kind", "tags", "metadata.kind"]) | TEXTS.filter(
    lambda name: not name.startswith(("$", '"', "__")) and "." not in name
)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-1e15, 1e15)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _name(name: str) -> str:
    quoted = name.removeprefix("metadata.").replace('"', '""')
    return f'metadata."{quoted}"' if name.startswith("metadata.") else f'"{quoted}"'


@st.composite
def _tests(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """One test in both forms."""
    name = draw(NAMES)
    texts_only = name in {"kind", "tags"}
    values = TEXTS if texts_only else TEXTS | NUMBERS | st.booleans()
    value = draw(values)
    match draw(st.integers(0, 4)):
        case 0:
            return {name: value}, f"{_name(name)} = {_literal(value)}"
        case 1:
            listed = draw(st.lists(values, min_size=1, max_size=3))
            words = ", ".join(map(_literal, listed))
            return {name: {"$nin": listed}}, f"{_name(name)} NOT IN ({words})"
        case 2:
            return {name: {"$exists": False}}, f"{_name(name)} IS NULL"
        case 3 if name != "tags" and not isinstance(value, bool):
            word = draw(st.sampled_from(sorted(SIGNS)))
            return {name: {word: value}}, f"{_name(name)} {SIGNS[word]} {_literal(value)}"
        case _:
            return {name: {"$ne": value}}, f"{_name(name)} != {_literal(value)}"


def _both(parts: list[tuple[dict[str, Any], str]], word: str) -> tuple[dict[str, Any], str]:
    text = f" {word} ".join(text for _, text in parts)
    return {f"${word.lower()}": [mapping for mapping, _ in parts]}, f"({text})"


FILTERS = st.recursive(
    _tests(),
    lambda parts: (
        parts.map(lambda part: ({"$not": part[0]}, f"NOT {part[1]}"))
        | st.lists(parts, min_size=2, max_size=3).map(lambda several: _both(several, "AND"))
        | st.lists(parts, min_size=2, max_size=3).map(lambda several: _both(several, "OR"))
    ),
    max_leaves=5,
)


@pytest.mark.req("R-000-143", "R-000-259")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(FILTERS)
def test_both_forms_of_any_filter_make_the_same_tree(both: tuple[dict[str, Any], str]) -> None:
    mapping, text = both
    assert parse(text) == parse(mapping) == parse(json.dumps(mapping))
    assert canonical(parse(text)) == canonical(parse(mapping))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["$and", "$or", "$not", "$in", "$gt", "a", "tags", "pinned", ""]),
                inner,
                max_size=2,
            )
        ),
        max_leaves=6,
    )
)
def test_anything_is_a_filter_or_a_filter_error(given_: object) -> None:
    try:
        node = parse(given_)
    except FilterError:
        return
    assert canonical(parse(canonical(node))) == canonical(node)
