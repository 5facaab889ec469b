"""The filters of tests/corpora/filters.py select what they say, or say what is allowed."""

import json

import pytest

from memory_mesh.errors import FilterError
from memory_mesh.policy.filters import canonical, parse
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
