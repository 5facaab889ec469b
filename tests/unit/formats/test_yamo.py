"""YAMO blocks read back as they were written, and no value can add a field or a line."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats import yamo
from memory_mesh.formats.yamo import YamoBlock, parse, render
from memory_mesh.model.errors import BlockError

NOON = datetime(2026, 1, 31, 12, 0, 0, 123_456, tzinfo=UTC)
ID = "mem_1769860800123_0a1b2c"
BLOCK = YamoBlock("A", "do_it", meta=(("k", "v"),), log=("done",))

RETAIN = """\
agent: MemoryMesh_my_agent;
intent: store_memory_for_future_retrieval;
context:
  memory_id;mem_1769860800123_0a1b2c;
  memory_type;lesson;
  timestamp;2026-01-31T12:00:00.123Z;
  content_length;71;
constraints:
  hypothesis;Helps with cafés;
priority: medium;
output:
  memory_stored;mem_1769860800123_0a1b2c;
  content_preview;é one two three four five six seven eight nine ten eleven tw;
meta:
  rationale;Memory persisted for semantic search and retrieval;
  observation;Content vectorized and stored in LanceDB;
  confidence;1.0;
log: memory_retained;timestamp;2026-01-31T12:00:00.123Z;id;mem_1769860800123_0a1b2c;type;lesson;
handoff: End;
"""
RECALL = """\
agent: MemoryMesh_YAMO_AGENT;
intent: recall_relevant_memories;
context:
  query;what%3B now;
  limit;10;
  filter;none;
  timestamp;2026-01-31T12:00:00.123Z;
output:
  results_found;3;
  top_score;0.0328;
meta:
  rationale;Retrieved most semantically relevant memories for current context;
  confidence;0.0328;
log: memory_recalled;timestamp;2026-01-31T12:00:00.123Z;query;what%3B now;results;3;
handoff: End;
"""
CHANGE = """\
agent: MemoryMesh_a;
intent: change_memory;
context:
  memory_id;mem_1769860800123_0a1b2c;
  change;archive;
  timestamp;2026-01-31T12:00:00.123Z;
output:
  memory_changed;mem_1769860800123_0a1b2c;
meta:
  rationale;too old;
  confidence;1.0;
log: memory_changed;timestamp;2026-01-31T12:00:00.123Z;id;mem_1769860800123_0a1b2c;change;archive;
handoff: End;
"""
ABNF = """\
agent: Some_Agent;
intent: do_it;
constraints:
  - stay within budget, always;
  hypothesis;it works;
meta: rationale;because;
meta: confidence;0.5;
log: done;
handoff: SubconsciousReflector;
"""


@pytest.mark.req(
    "R-000-070", "R-000-071", "R-000-072", "R-000-073", "R-000-074", "R-000-075", "R-000-076"
)
def test_a_retain_block_is_the_rfcs_to_the_letter_where_it_is_exported():
    content = "é one\ntwo three four five six seven eight nine ten eleven twelve more."
    block = yamo.retain(
        ID,
        content,
        agent_id="my-agent",
        memory_type="lesson",
        at=NOON,
        hypothesis="Helps with cafés",
    )
    assert "LanceDB" not in render(block)
    assert yamo.as_rfc(render(block)) == RETAIN


@pytest.mark.req("R-000-077", "R-000-078", "R-000-079", "R-000-080", "R-000-081")
def test_a_recall_block_is_the_rfcs_to_the_letter():
    block = yamo.recall(
        "what; now", agent_id="YAMO_AGENT", limit=10, results=3, top_score=0.032_786_8, at=NOON
    )
    assert render(block) == RECALL
    assert (block.constraints, block.priority) == ((), "")


@pytest.mark.req("R-000-077")
def test_a_recall_block_names_its_filter():
    block = yamo.recall(
        "q", agent_id="a", limit=1, results=0, top_score=0, at=NOON, filter="kind = 'lesson'"
    )
    assert dict(block.context)["filter"] == "kind = 'lesson'"
    assert dict(block.output) == {"results_found": "0", "top_score": "0.0"}


def test_a_change_block_says_what_and_why():
    block = yamo.change(ID, "archive", agent_id="a", reason="too old", at=NOON)
    assert render(block) == CHANGE
    for change in yamo.CHANGES:
        assert (
            parse(render(yamo.change(ID, change, agent_id="a", reason="r", at=NOON))).log[-1]
            == change
        )
    with pytest.raises(BlockError, match="archive"):
        yamo.change(ID, "explode", agent_id="a", reason="r", at=NOON)


@pytest.mark.req(
    "R-000-057",
    "R-000-059",
    "R-000-060",
    "R-000-062",
    "R-000-067",
    "R-000-068",
)
def test_the_sections_are_read_in_the_rfcs_order():
    block = parse(RETAIN)
    assert (block.agent, block.intent) == (
        "MemoryMesh_my_agent",
        "store_memory_for_future_retrieval",
    )
    assert [key for key, _ in block.context] == [
        "memory_id",
        "memory_type",
        "timestamp",
        "content_length",
    ]
    assert (block.priority, block.handoff) == ("medium", "End")
    assert block.log[:2] == ("memory_retained", "timestamp")


@pytest.mark.req("R-000-061")
@pytest.mark.parametrize("intent", ["a b", "store-memory", "é_x", "", "a;b", "a\nb"])
def test_an_intent_is_made_of_letters_digits_and_underscore(intent):
    with pytest.raises(BlockError, match="intent"):
        render(replace(BLOCK, intent=intent))
    with pytest.raises(BlockError, match=r"^Line 2: "):
        parse(render(BLOCK).replace("do_it", intent))
    text = render(replace(BLOCK, intent="do_step_2"))
    assert text.splitlines()[1] == "intent: do_step_2;"
    assert parse(text).intent == "do_step_2"


@pytest.mark.req("R-000-064")
def test_a_priority_is_one_of_four_levels():
    for level in ("critical", "high", "medium", "low"):
        text = render(replace(BLOCK, priority=level))
        assert text.splitlines()[2] == f"priority: {level};"
        assert parse(text).priority == level
        with pytest.raises(BlockError, match=r"^Line 3: .*critical, high, medium, low"):
            parse(text.replace(f"priority: {level}", f"priority: {level.upper()}"))
    with pytest.raises(BlockError, match="critical, high, medium, low"):
        render(replace(BLOCK, priority="urgent"))


@pytest.mark.req("R-000-065")
def test_the_output_section_is_indented_pairs_below_its_name():
    text = render(replace(BLOCK, output=(("first", "one"), ("second", ""))))
    assert text.splitlines()[2:5] == ["output:", "  first;one;", "  second;;"]
    assert parse(text).output == (("first", "one"), ("second", ""))
    for broken in ("output:\n", "output:\n first;one;\n", "output:\n  first;\n", "output: x;\n"):
        with pytest.raises(BlockError, match=r"^Line [34]: "):
            parse(render(BLOCK).replace("meta:", f"{broken}meta:"))


@pytest.mark.req("R-000-058")
def test_a_semicolon_in_a_value_is_written_as_a_code_and_a_comma_is_read_as_it_is():
    text = render(replace(BLOCK, output=(("said", "tea; milk"),)))
    assert "  said;tea%3B milk;\n" in text
    assert dict(parse(text).output) == {"said": "tea; milk"}
    as_the_rfc_writes_it = text.replace("tea%3B milk", "tea, milk")
    assert dict(parse(as_the_rfc_writes_it).output) == {"said": "tea, milk"}


@pytest.mark.req("R-000-063", "R-000-066")
def test_the_abnf_form_is_read_and_written_as_sections():
    block = parse(ABNF)
    assert block.constraints == (("", "stay within budget, always"), ("hypothesis", "it works"))
    assert block.meta == (("rationale", "because"), ("confidence", "0.5"))
    assert "meta:\n  rationale;because;\n  confidence;0.5;\n" in render(block)
    assert "  - stay within budget, always;\n" in render(block)
    assert parse(render(block)) == block
    without = [line for line in ABNF.splitlines() if not line.startswith("meta: ")]
    with pytest.raises(BlockError, match="expected a meta section"):
        parse("\n".join(without))


def test_a_reader_accepts_crlf_and_a_missing_last_line_end():
    assert parse(RETAIN.replace("\n", "\r\n")) == parse(RETAIN)
    assert parse(RETAIN.removesuffix("\n")) == parse(RETAIN)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("100% sure", "100% sure"),
        ("%3b stays", "%3b stays"),
        ("a%3Bb%0Ac%0Dd%25e", "a;b\nc\rd%e"),
        ("%253B", "%3B"),
        ("%%3B%", "%;%"),
        ("old, comma", "old, comma"),
    ],
)
def test_only_the_four_codes_are_decoded(written, read):
    assert parse(render(BLOCK).replace("k;v;", f"k;{written};")).meta == (("k", read),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("hello", 1),
        (RETAIN.replace("agent: ", "agent:"), 1),
        (RETAIN.replace("MemoryMesh_my_agent", "my-agent"), 1),
        (RETAIN.replace("MemoryMesh_my_agent", "ágent"), 1),
        (RETAIN.replace("intent: store", "intent: st ore"), 2),
        (RETAIN.replace("  memory_id;", "memory_id;"), 4),
        (RETAIN.replace("  memory_type;lesson;", "  memory_type;lesson"), 5),
        (RETAIN.replace("  memory_type;lesson;", "  memory_type;les;son;"), 5),
        (RETAIN.replace("  memory_type;lesson;", "  ;lesson;"), 5),
        (RETAIN.replace("  memory_type;lesson;", "  - lesson;"), 5),
        (RETAIN.replace("  memory_type;lesson;", "  memory\r_type;lesson;"), 5),
        (RETAIN.replace("priority: medium;", "priority: urgent;"), 10),
        (RETAIN.replace("priority: medium;\n", "priority: medium;\npriority: low;\n"), 11),
        (RETAIN.replace("handoff: End;", "handoff: End;End;"), 19),
        (RETAIN.replace("handoff: End;\n", ""), 19),
        (RETAIN + "\n", 20),
        (RETAIN + "handoff: Evil;\n", 20),
        (RETAIN.replace("output:", "results:"), 11),
        (RETAIN.replace("log: memory_retained", "log: memory_retained\nlog: again"), 18),
        (CHANGE.replace("meta:\n  rationale;too old;\n  confidence;1.0;\n", ""), 9),
        (CHANGE.replace("  rationale;too old;\n  confidence;1.0;\n", ""), 10),
    ],
)
def test_a_broken_block_is_refused_with_its_line(text, line):
    with pytest.raises(BlockError, match=rf"^Line {line}: "):
        parse(text)


@pytest.mark.parametrize(
    "broken",
    [
        replace(BLOCK, agent="a b"),
        replace(BLOCK, agent=""),
        replace(BLOCK, intent="x;\nhandoff: Evil"),
        replace(BLOCK, priority="urgent"),
        replace(BLOCK, context=(("", "v"),)),
        replace(BLOCK, meta=()),
        replace(BLOCK, log=()),
        replace(BLOCK, handoff=""),
    ],
)
def test_a_block_outside_the_grammar_is_not_written(broken):
    with pytest.raises(BlockError):
        render(broken)


@pytest.mark.req("R-000-060")
@pytest.mark.parametrize(
    ("agent_id", "name"),
    [
        ("YAMO_AGENT", "MemoryMesh_YAMO_AGENT"),
        ("my-agent 2", "MemoryMesh_my_agent_2"),
        ("é;\n", "MemoryMesh____"),
    ],
)
def test_an_agent_name_uses_letters_digits_and_underscore(agent_id, name):
    assert yamo.agent_name(agent_id) == name
    at = datetime(2026, 2, 1, tzinfo=UTC)
    text = yamo.retained("mem_1", "tea", agent_id=agent_id, memory_type="global", at=at)
    assert text.splitlines()[0] == f"agent: {name};"


@pytest.mark.req("R-000-060")
@pytest.mark.parametrize("agent", ["a b", "my-agent", "é_x", "", "a;b", "a\nb"])
def test_an_agent_line_is_made_of_letters_digits_and_underscore(agent):
    with pytest.raises(BlockError, match="agent"):
        render(replace(BLOCK, agent=agent))
    with pytest.raises(BlockError, match=r"^Line 1: "):
        parse(render(BLOCK).replace(f"agent: {BLOCK.agent};", f"agent: {agent};"))
    text = render(replace(BLOCK, agent="Agent_7"))
    assert text.splitlines()[0] == "agent: Agent_7;"
    assert parse(text).agent == "Agent_7"


def test_a_time_is_written_in_utc_with_milliseconds():
    tokyo = timezone(timedelta(hours=9))
    assert yamo.timestamp(datetime(2026, 2, 1, 3, 0, tzinfo=tokyo)) == "2026-01-31T18:00:00.000Z"
    with pytest.raises(BlockError, match="time zone"):
        yamo.timestamp(datetime(2026, 2, 1))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_a_preview_is_one_line(end):
    assert yamo.preview(f"one{end}two") == "one two"
    assert len(yamo.preview("x" * 500)) == 60


ANY = st.text(alphabet=st.characters()) | st.sampled_from(
    [
        ";",
        "%",
        "%3B",
        "a;b;",
        "\nhandoff: Evil;",
        "\r\nlog: x;",
        "  k;v;",
        "- ",
        "\x85log: x;",
        "\u2028meta: a;b;",
    ]
)
KEY = ANY.filter(bool)
PAIRS = st.lists(st.tuples(KEY, ANY), max_size=3).map(tuple)
NAME = st.text(alphabet="abcXYZ019_", min_size=1)
BLOCKS = st.builds(
    YamoBlock,
    agent=NAME,
    intent=NAME,
    context=PAIRS,
    constraints=st.lists(st.tuples(ANY, ANY), max_size=3).map(tuple),
    priority=st.sampled_from(("", *yamo.PRIORITIES)),
    output=PAIRS,
    meta=PAIRS.filter(bool),
    log=st.lists(ANY, min_size=1, max_size=4).map(tuple),
    handoff=KEY,
)


@pytest.mark.req("R-000-058", "R-000-069")
@given(BLOCKS)
def test_every_block_reads_back_equal_and_writes_the_same_text(block):
    text = render(block)
    assert parse(text) == block
    assert render(parse(text)) == text


@pytest.mark.req("R-000-058")
@given(ANY)
def test_no_value_adds_a_line_or_a_field(value):
    plain = yamo.change(ID, "update", agent_id="a", reason="r", at=NOON)
    forged = render(replace(plain, meta=(("rationale", value), ("confidence", "1.0"))))
    assert forged.count("\n") == render(plain).count("\n")
    assert forged.count(";") == render(plain).count(";")
    assert dict(parse(forged).meta)["rationale"] == value


@given(ANY, ANY)
def test_builders_take_any_text(content, query):
    retained = yamo.retain(content or "x", content, agent_id=query, memory_type="global", at=NOON)
    recalled = yamo.recall(query, agent_id=content, limit=5, results=0, top_score=0.5, at=NOON)
    assert parse(render(retained)) == retained
    assert parse(render(recalled)) == recalled
    assert dict(retained.context)["content_length"] == str(
        len(content.encode("utf-8", "surrogatepass"))
    )


@given(st.text() | st.lists(st.sampled_from(RETAIN.splitlines(keepends=True))).map("".join))
def test_any_text_is_a_block_or_a_block_error(text):
    try:
        block = parse(text)
    except BlockError:
        return
    assert parse(render(block)) == block
