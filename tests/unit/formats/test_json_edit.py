import json

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats import json_text
from memory_mesh.model.errors import InvalidInput

SETTINGS = """{
    "model": "opus",
    "permissions": {"allow": ["Bash(ls:*)",   "Read"]},
    "name": "caf\\u00e9"
}
"""

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(st.text(), _values, max_size=4)
_styles = st.sampled_from(
    [
        {"indent": 2},
        {"indent": "\t"},
        {"separators": (",", ":")},
        {"indent": 4, "separators": (" ,", " : ")},
        {},
    ]
)
_paths = st.lists(st.text(), min_size=1, max_size=3)


def _expected(before, path, value):
    if len(path) == 1:
        return {**before, path[0]: value}
    return {**before, path[0]: _expected(before.get(path[0], {}), path[1:], value)}


def _open(before, path):
    """True if every value on the way is an object or missing."""
    for name in path[:-1]:
        before = before.get(name, {})
        if not isinstance(before, dict):
            return False
    return True


def test_a_new_member_follows_the_others_and_every_other_byte_stays():
    changed = json_text.with_member(SETTINGS, ["enabled", "mesh"], value=True)
    assert changed == SETTINGS.replace(
        '"name": "caf\\u00e9"\n',
        '"name": "caf\\u00e9",\n    "enabled": {\n        "mesh": true\n    }\n',
    )
    assert json_text.without_member(changed, ["enabled"]) == SETTINGS


def test_a_changed_value_is_the_only_difference():
    changed = json_text.with_member(SETTINGS, ["model"], value="sonnet")
    assert changed == SETTINGS.replace('"opus"', '"sonnet"')


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", '{\n  "a": 1\n}\n'),
        ("{}", '{\n  "a": 1\n}'),
        ("{\n}\n", '{\n  "a": 1\n}\n'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{\r\n\t"b": 2\r\n}\r\n', '{\r\n\t"b": 2,\r\n\t"a": 1\r\n}\r\n'),
        ('\ufeff{"b": 2}', '\ufeff{"b": 2, "a": 1}'),
    ],
)
def test_line_ends_indentation_and_byte_order_mark_are_kept(text, changed):
    assert json_text.with_member(text, ["a"], value=1) == changed


def test_a_file_of_one_line_stays_one():
    changed = json_text.with_member('{"model":"opus"}', ["enabled", "mesh"], value=True)
    assert changed == '{"model":"opus", "enabled": {"mesh": true}}'


def test_the_member_that_counts_is_changed_and_all_of_its_name_are_removed():
    text = '{"a": 1, "b": 2, "a": 3}'
    assert json_text.with_member(text, ["a"], value=4) == '{"a": 1, "b": 2, "a": 4}'
    assert json_text.without_member(text, ["a"]) == '{"b": 2}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,}', "line 1, column"),
        ('{\n  // a comment\n  "a": 1\n}', "line 2, column 3"),
        ("[1]", "not an object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_object_is_refused_with_its_place(text, said):
    with pytest.raises(InvalidInput, match=said):
        json_text.with_member(text, ["a"], value=1)


def test_a_value_on_the_way_that_is_no_object_is_refused():
    with pytest.raises(InvalidInput, match=r"plugins\.mesh is not an object"):
        json_text.with_member('{"plugins": {"mesh": []}}', ["plugins", "mesh", "on"], value=1)


@given(_objects, _styles, _paths, _values)
def test_adding_and_removing_do_what_they_do_to_the_value(before, style, path, value):
    text = json.dumps(before, **style)
    if not _open(before, path):
        with pytest.raises(InvalidInput):
            json_text.with_member(text, path, value=value)
        return
    changed = json_text.with_member(text, path, value=value)
    assert json.loads(changed) == _expected(before, path, value)
    assert json_text.value_at(changed, path) == (value,)
    assert json_text.value_at(json_text.without_member(changed, path), path) is None


@given(_objects, _styles, st.text(), _values)
def test_removing_what_was_added_gives_back_the_very_text(before, style, name, value):
    text = json.dumps(before, **style)
    if before and name not in before:
        changed = json_text.with_member(text, [name], value=value)
        assert json_text.without_member(changed, [name]) == text
