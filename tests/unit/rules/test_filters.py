"""A filter selects the rows it says, and text that is no filter never gets near SQL."""

import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from memory_mesh.ledgers.shared.visibility import compile_sql
from memory_mesh.model import query
from memory_mesh.model.errors import FilterError
from memory_mesh.model.query import (
    Among,
    And,
    Between,
    Compare,
    IsNull,
    Like,
    MetadataKey,
    Not,
    Or,
    Sign,
)
from memory_mesh.rules import filter_fields
from memory_mesh.rules.filter_fields import canonical
from memory_mesh.rules.filters import parse

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = {name: f'm."{name}"' for name in filter_fields.FIELDS}
EARLY, LATE = (
    1_700_000_000_000_000,
    1_800_000_000_000_000,
)  # 2023-11-14 and 2027-01-15, in microseconds
ROWS: dict[str, dict[str, object]] = {
    "a": {"content": "It's a 100% café", "kind": "lesson", "importance": 0.9, "access_count": 3},
    "b": {
        "content": "plain_text",
        "kind": "fact",
        "importance": 0.5,
        "access_count": 0,
        "pinned": 1,
    },
    "c": {"content": "plainXtext; DROP", "kind": None, "importance": 0.1, "session_id": "s1"},
}
ROWS["a"] |= {
    "tags": '["x", "#lesson_learned"]',
    "created_at": EARLY,
    "pinned": 0,
    "session_id": "s1",
}
ROWS["b"] |= {"tags": '["y"]', "created_at": LATE, "session_id": "s2", "memory_type": "global"}
ROWS["c"] |= {"tags": None, "created_at": LATE, "pinned": 0, "access_count": 7}


@pytest.fixture(scope="module")
def table():
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE m (" + ", ".join(f'"{name}"' for name in filter_fields.FIELDS) + ")"
        )
        for id_, row in ROWS.items():
            names = ["id", *row]
            marks = ", ".join("?" * len(names))
            listed = ", ".join(f'"{name}"' for name in names)
            connection.execute(f"INSERT INTO m ({listed}) VALUES ({marks})", [id_, *row.values()])
    yield connection
    connection.close()


def selected(table: sqlite3.Connection, text: str) -> str:
    sql, bound = compile_sql(parse(text), COLUMNS)
    found = table.execute(f"SELECT id FROM m WHERE {sql} ORDER BY id", bound)
    return "".join(id_ for (id_,) in found)


@pytest.mark.req("R-000-143")
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("kind = 'lesson'", "a"),
        ("kind == 'lesson'", "a"),
        ("KIND = 'lesson'", "a"),
        ("kind != 'lesson'", "b"),
        ("kind <> 'lesson'", "b"),
        ("kind IS NULL", "c"),
        ("kind is not null", "ab"),
        ("NOT kind IS NULL", "ab"),
        ("kind IN ('lesson', 'fact')", "ab"),
        ("kind NOT IN ('lesson')", "b"),
        ("importance > 0.5", "a"),
        ("importance_score >= .5", "ab"),
        ("importanceScore < 0.5", "c"),
        ("importance <= 5e-1", "bc"),
        ("importance BETWEEN 0.1 AND 0.5", "bc"),
        ("importance NOT BETWEEN 0.1 AND 0.5", "a"),
        ("access_count = 0", "b"),
        ("accessCount > -1", "abc"),
        ("access_count IN (3, 7)", "ac"),
        ("content = 'It''s a 100% café'", "a"),
        ("content LIKE 'plain%'", "bc"),
        ("content LIKE 'plain\\_text'", "b"),
        ("content LIKE 'plain_text'", "b"),
        ("content LIKE '%100\\%%'", "a"),
        ("content NOT LIKE '%plain%'", "a"),
        ("content LIKE '%''s%'", "a"),
        ("content LIKE '%; DROP'", "c"),
        ("content > 'pl'", "bc"),
        ("session_id = 's1'", "ac"),
        ("sessionId = 's2'", "b"),
        ("SESSIONID = 's2'", "b"),
        ("memory_type = 'global'", "b"),
        ("memoryType = 'global'", "b"),
        ("pinned = true", "b"),
        ("pinned", "b"),
        ("NOT pinned", "ac"),
        ("pinned = FALSE", "ac"),
        ("pinned != true", "ac"),
        ("created_at < '2024-01-01'", "a"),
        ("createdAt >= timestamp '2024-01-01 00:00:00'", "bc"),
        ("created_at > date '2024-01-01'", "bc"),
        ("created_at = '2023-11-14T22:13:20Z'", "a"),
        ("created_at = '2023-11-14T23:13:20+01:00'", "a"),
        ("created_at BETWEEN '2023-01-01' AND '2024-01-01'", "a"),
        ("updated_at IS NULL", "abc"),
        ("tags = 'x'", "a"),
        ("tags != 'x'", "bc"),
        ("NOT tags = 'x'", "bc"),
        ("tags IN ('y', '#lesson_learned')", "ab"),
        ("tags NOT IN ('y', 'z')", "ac"),
        ("tags LIKE '#lesson%'", "a"),
        ("tags NOT LIKE '#lesson%'", "bc"),
        ("tags IS NULL", "c"),
        ("tags IS NOT NULL", "ab"),
        ("kind = 'lesson' OR kind = 'fact' AND importance > 0.6", "a"),
        ("(kind = 'lesson' OR kind = 'fact') AND importance < 0.6", "b"),
        ("NOT (kind = 'lesson' OR importance < 0.3)", "b"),
        ("NOT kind = 'lesson' AND pinned = true", "b"),
        ("NOT NOT kind = 'lesson'", "a"),
        ("\n(\tkind='lesson'\r\n)AND(importance>0)", "a"),
        ("content = 'x'' OR ''1''=''1'", ""),
        ("content = '1=1) OR (1=1'", ""),
        ("id IN ('a','b') AND id = 'b'", "b"),
    ],
)
def test_a_filter_selects_the_rows_it_says(table, text, ids):
    assert selected(table, text) == ids
    assert selected(table, canonical(parse(text))) == ids


LEGITIMATE = [
    *(f"{name} IS NULL" for name in (*filter_fields.FIELDS, *filter_fields.ALIASES)),
    *(f"{name.replace('_', '').upper()} IS NOT NULL" for name in filter_fields.FIELDS),
    *(
        f"{name} = 'x'"
        for name, type_ in filter_fields.FIELDS.items()
        if type_ is query.FieldType.TEXT
    ),
    *(
        f"{name} != -1.5e2"
        for name, type_ in filter_fields.FIELDS.items()
        if type_ is query.FieldType.NUMBER
    ),
    *(
        f"{name} < '2026-01-31'"
        for name, type_ in filter_fields.FIELDS.items()
        if type_ is query.FieldType.TIME
    ),
    *(
        f"source = '{text}'"
        for text in ("--", "/* */", ";", "a\nb", "日本", "\\", '"', "`", "%_", "''")
    ),
    *(f"order {sign} 1" for sign in ("=", "==", "!=", "<>", "<", "<=", ">", ">=")),
    *(
        f"occurred_at > {value}"
        for value in (
            "'2026-01-31T12:00'",
            "date '2026-01-31'",
            "TIMESTAMP '2026-01-31 12:00:00'",
        )
    ),
    "type = 'event' AND source = 'MyAgent'",
    "sourceKind = 'user_explicit' and validUntil is null",
    " AND ".join(["pinned"] * 64),
    "(" * 32 + "pinned" + ")" * 32,
    "order IN (" + ", ".join(map(str, range(256))) + ")",
]


@pytest.mark.req("R-000-143")
@pytest.mark.parametrize("text", LEGITIMATE, ids=lambda text: ascii(text)[:40])
def test_a_legitimate_filter_is_understood(text):
    assert len(LEGITIMATE) >= 100
    sql, bound = compile_sql(parse(text), COLUMNS)
    assert sql.count("?") == len(bound)


ATTACKS = [
    "1=1) OR (1=1", "1=1", "1", "'a'='a'", "''", "'", "true", "null", "NOT", "", " ", "()", "(",
    ")", "kind = 'a') OR (1=1", "kind = 'a' OR 1=1", "kind = 'a' OR 'a'='a'", "kind = 'a' OR true",
    "kind = 'a' --", "kind = 'a'-- x", "kind = 'a' /* x */", "kind/**/=/**/'a'", "kind = 'a' # x",
    "kind = 'a';", "kind = 'a'; DROP TABLE m", "; DELETE FROM m", "kind = 'a' UNION SELECT 1",
    "kind IN (SELECT kind FROM m)", "kind = (SELECT 1)", "EXISTS (SELECT 1)", "id IN (id)",
    "kind = kind", "importance > confidence", "lower(kind) = 'a'", "kind = lower('A')",
    "kind = char(65)", "load_extension('x')", "kind = randomblob(1000000000)",
    "kind = printf('%s')", "CAST(kind AS text) = 'a'", "kind COLLATE NOCASE = 'a'",
    "kind GLOB 'a*'", "kind REGEXP 'a'", "kind MATCH 'a'", "kind SIMILAR TO 'a'", "kind ILIKE 'a'",
    "kind LIKE 'a' ESCAPE 'b'", "kind || 'a' = 'b'", "importance + 1 > 2", "importance * 2 > 1",
    "-importance < 0", "importance > 1 + 1", "importance > 1-1", "~importance", "importance & 1",
    "importance << 1", "CASE WHEN 1 THEN 1 END", "rowid", "rowid.id = 1",
    "m.kind = 'a'", "main.m.kind = 'a'", "metadata = 'x'", "metadata. = 'x'",
    "metadata.type.x = 'x'", "metadata['type'] = 'x'", "metadata->>'x' = 'y'",
    "json_extract(metadata, '$.x') = 1", '"kind = \'a\'', '"kind".x = \'a\'', "`kind` = 'a'",
    "[kind] = 'a'",
    'kind = "a"', "kind = `a`", "kind = N'a'", "kind = x'41'", "kind = E'a'", "kind = 'a' 'b'",
    "kind = 'it's'", "kind = 'open", "kind = 'a\x00b'", "kind = '\ud800'", "ｋｉｎｄ = 'a'",
    "kіnd = 'a'", "kind ＝ 'a'", "kind = ‘a’", "kind = ＇a＇", "kind\u00a0= 'a'", "kind\u2028= 'a'",
    "kind\x0b= 'a'", "kind\x00 = 'a'", "\ufeffkind = 'a'", "kind\u200b = 'a'", "importance > '0.5'",
    "importance = 'a'", "importance > 0x10", "importance > 1_000", "importance > ٣",
    "importance > 1e999", "access_count = 99999999999999999999", "importance > nan",
    "importance > inf", "importance = true", "importance = NULL", "importance LIKE '1%'",
    "order > 1AND pinned",
    "importance > .", "importance > 1.2.3", "importance > 1abc", "importance > --1",
    "importance IN ()", "importance IN (1,)", "importance IN 1", "importance IN (1, 'a')",
    "importance BETWEEN 1", "importance BETWEEN 1 OR 2", "importance BETWEEN AND 2", "kind = 5",
    "kind = true", "kind = NULL", "kind IS 'a'", "kind IS NOT", "kind NOT NULL", "kind NOT = 'a'",
    "kind = timestamp '2026-01-01'", "kind", "NOT kind", "kind =", "= 'a'", "kind = = 'a'",
    "kind === 'a'", "kind !== 'a'", "kind ! 'a'", "kind => 'a'", "kind AND pinned",
    "kind = 'a' AND", "AND kind = 'a'", "kind = 'a' kind = 'b'", "kind = 'a', kind = 'b'",
    "kind = 'a' XOR pinned", "kind = 'a' && pinned", "kind = 'a' || pinned", "!pinned",
    "pinned = 1", "pinned = 'true'", "pinned > false", "pinned LIKE 'a'",
    "pinned BETWEEN true AND true", "pinned IS TRUE", "tags > 'a'", "tags = 1",
    "tags BETWEEN 'a' AND 'b'", "tags @> 'a'", "array_has(tags, 'a')", "ANY(tags) = 'a'",
    "created_at > 5", "created_at > 'yesterday'", "created_at > now()",
    "created_at > current_timestamp", "created_at > interval '1 day'",
    "created_at = '0001-01-01T00:00:00+23:00'", "created_at > '2026-13-01'",
    "created_at LIKE '2026%'", "created_at > timestamp date '2026-01-01'", "kind LIKE 5",
    "kind LIKE kind", "kind LIKE 'a\\'", "kind = ?", "kind = :a", "kind = $1", "kind = @a",
    "kind = %s", "kind = {0}", "__proto__ = 'a'", "metadata.__x__ = 'a'",
    "and = 'a'", "in IN ('a')", "null IS NULL", "PRAGMA table_info(m)",
    "ATTACH DATABASE 'x' AS y", "kind = 'a' ORDER BY id", "kind = 'a' LIMIT 1",
    "kind = 'a' GROUP BY id", "WHERE kind = 'a'", "kind = 'a' RETURNING id", "(kind = 'a'",
    "kind = 'a')", "((kind = 'a')", "kind = ('a')", "(kind) = 'a'", "(kind, id) = ('a', 'b')",
    "kind = 'a'\\", "\\kind = 'a'",
]  # fmt: skip


@pytest.mark.req("R-000-261")
@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text)[:40])
def test_an_attack_is_refused(text):
    assert len(set(ATTACKS)) == len(ATTACKS) >= 100
    with pytest.raises(FilterError) as refusal:
        parse(text)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind = 'a'", Compare("kind", Sign.EQUAL, "a")),
        ("type <> 'a'", Compare("type", Sign.UNEQUAL, "a")),
        ("order >= 1", Compare("order", Sign.AT_LEAST, 1)),
        ("importanceScore < 1.5", Compare("importance", Sign.BELOW, 1.5)),
        ("pinned", Compare("pinned", Sign.EQUAL, value=True)),
        ("created_at > '2026-01-01'", Compare("created_at", Sign.ABOVE, NEW_YEAR)),
        ("created_at > '2025-12-31T19:00:00-05:00'", Compare("created_at", Sign.ABOVE, NEW_YEAR)),
        ("order IN (1, 2)", Among("order", (1, 2))),
        ("kind NOT LIKE 'a%'", Not(Like("kind", "a%"))),
        (
            "order BETWEEN 1 AND 2 AND pinned",
            And((Between("order", 1, 2), Compare("pinned", Sign.EQUAL, value=True))),
        ),
        ("kind IS NULL OR NOT kind IS NULL", Or((IsNull("kind"), Not(IsNull("kind"))))),
    ],
)
def test_a_filter_is_a_value(text, expected):
    assert parse(text) == expected


@pytest.mark.req("R-000-259")
def test_any_other_name_is_a_top_level_key_of_the_metadata():
    for name in ("team", "rowid", "_rowid_", "namespace", "tenant", "select", "session__id"):
        expected = Compare(MetadataKey(name), Sign.EQUAL, "x")
        assert parse(f"{name} = 'x'") == expected
        assert parse(f"metadata.{name} = 'x'") == expected
        assert parse(f"\"{name}\" = 'x'") == expected
    assert parse("\"Kind\" = 'a'") == parse("kind = 'a'")
    assert parse("metadata.kind = 'a'") == Compare(MetadataKey("kind"), Sign.EQUAL, "a")
    for nested in ("metadata.a.b = 1", "a.b = 1", "metadata['a'] = 1", "metadata->>'a' = 'x'"):
        with pytest.raises(FilterError, match=r"Only top-level metadata can be filtered"):
            parse(nested)


@pytest.mark.req("R-000-261")
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9))
def test_the_name_of_a_key_is_bound_and_never_written(name):
    node = Compare(MetadataKey(name), Sign.EQUAL, "x")
    sql, bound = compile_sql(node, {"metadata": "m"})
    assert sql == compile_sql(Compare(MetadataKey("a"), Sign.EQUAL, "x"), {"metadata": "m"})[0]
    assert bound == [name, "x", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = ", "position 8: expected a 'text' in single quotes for kind, but the filter ends"),
        ("kind = 5", "position 8: expected a 'text' in single quotes for kind, but there is '5'"),
        ("order = 'x'", "position 9: expected a number for order"),
        ("kind = NULL", "position 8: expected IS NULL"),
        ("AND kind = 'a'", "position 1: expected a field name, but there is 'AND'"),
        (
            "kind = 'a' b",
            "position 12: expected AND, OR or the end of the filter, but there is 'b'",
        ),
        ('kind = "a"', "position 8: .*single quotes"),
        ("kind = 'a' AND (pinned", "position 23: expected \\), but the filter ends"),
        ("tags > 'a'", "position 6: expected =, !=, IN or IS NULL, all that tags allows"),
    ],
)
def test_a_refusal_says_where_and_what_was_expected(text, message):
    with pytest.raises(FilterError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = '" + "x" * 2_000 + "'", "2000 characters"),
        ("(" * 33 + "pinned" + ")" * 33, "32 levels"),
        ("NOT " * 33 + "pinned", "32 levels"),
        ("(" * 1_999, "32 levels"),
        (" AND ".join(["pinned"] * 65), "64 comparisons"),
        ("order IN (" + ",".join(["1"] * 257) + ")", "256 values"),
    ],
    ids=["long", "deep", "not", "open", "many", "values"],
)
def test_a_filter_is_bounded(text, message):
    with pytest.raises(FilterError, match=message):
        parse(text)


def test_a_field_without_a_column_is_refused():
    with pytest.raises(FilterError, match="tier cannot be filtered here"):
        compile_sql(parse("pinned OR tier = 'system'"), {"pinned": "p"})


def test_one_canonical_text_for_one_meaning():
    assert canonical(parse("Label=='a' and sessionId IN('c','b','b')")) == canonical(
        parse("((session_id IN ('b', 'c')) AND label = 'a')")
    )
    assert canonical(parse("kind = 'a' AND kind = 'a'")) == "kind = 'a'"
    unordered = " OR ".join(f"order = {digit}" for digit in "928374651")
    assert canonical(parse(unordered)) == "(" + " OR ".join(sorted(unordered.split(" OR "))) + ")"
    assert canonical(parse("kind = '1'")) != canonical(parse("label = '1'"))
    assert canonical(parse("kind = 'a' OR pinned")) != canonical(parse("kind = 'a' AND pinned"))
    assert canonical(parse("content = 'a'' OR kind = ''b'")) != canonical(
        parse("content = 'a' OR kind = 'b'")
    )


WORDS = [
    "kind",
    "order",
    "tags",
    "pinned",
    "created_at",
    "=",
    "<",
    "!=",
    "(",
    ")",
    ",",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
]
WORDS += [
    "BETWEEN",
    "IS",
    "NULL",
    "true",
    "1",
    "-2.5",
    "'a'",
    "'%b_'",
    "'2026-01-01'",
    "timestamp",
    "date",
    "'",
    '"',
    "--",
]


@given(
    st.text(alphabet=st.characters()) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
)
def test_any_text_is_a_filter_or_a_filter_error(text):
    try:
        node = parse(text)
    except FilterError:
        return
    assert canonical(parse(canonical(node))) == canonical(node)


VALUES = {
    query.FieldType.TEXT: st.text(
        alphabet=st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=9
    ),
    query.FieldType.NUMBER: st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-1e18, 1e18),
    query.FieldType.TIME: st.datetimes(timezones=st.just(UTC)),
    query.FieldType.BOOL: st.booleans(),
}
TESTS = st.sampled_from(
    [name for name, type_ in filter_fields.FIELDS.items() if type_ in VALUES]
).flatmap(
    lambda name: (
        st.builds(
            Compare,
            st.just(name),
            st.sampled_from([Sign.EQUAL, Sign.UNEQUAL]),
            VALUES[filter_fields.FIELDS[name]],
        )
        | st.builds(
            Among,
            st.just(name),
            st.lists(VALUES[filter_fields.FIELDS[name]], min_size=1, max_size=3).map(tuple),
        )
        | st.builds(IsNull, st.just(name))
    )
)
NODES = st.recursive(
    TESTS,
    lambda parts: (
        st.builds(Not, parts)
        | st.lists(parts, min_size=2, max_size=3).map(tuple).map(And)
        | st.lists(parts, min_size=2, max_size=3).map(tuple).map(Or)
    ),
    max_leaves=6,
)


@pytest.mark.req("R-000-261")
@given(node=NODES)
def test_every_value_is_bound_and_never_written(table, node):
    sql, bound = compile_sql(node, COLUMNS)
    assert set(sql) <= set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."() =!<>?,')
    assert sql.count("?") == len(bound)
    first = table.execute(f"SELECT id FROM m WHERE {sql}", bound).fetchall()
    text = canonical(node)
    if len(text) <= filter_fields.MAX_LENGTH:
        again, values = compile_sql(parse(text), COLUMNS)
        assert table.execute(f"SELECT id FROM m WHERE {again}", values).fetchall() == first
