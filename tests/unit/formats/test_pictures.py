"""Pictures of memories: what they show, and that no text can break them."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example as with_example, given, strategies as st

from memory_mesh.base.typed import replace
from memory_mesh.formats import svg
from memory_mesh.formats.mermaid import chain_mermaid, escaped, graph_mermaid
from memory_mesh.formats.picture import cut, one_line, picture
from memory_mesh.formats.svg import chain_svg, graph_svg, oldest_first, on_rails
from memory_mesh.model import Claim, Link, Status
from memory_mesh.model.graph import Neighbourhood
from tests.unit.formats import pictures

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES: dict[str, Callable[[], str]] = {
    "around-5.svg": lambda: graph_svg(pictures.example(5)),
    "around-60.svg": lambda: graph_svg(pictures.example(60)),
    "chain.svg": lambda: chain_svg(pictures.example_chain()),
    "around-5.mmd": lambda: graph_mermaid(pictures.example(5)),
    "around-60.mmd": lambda: graph_mermaid(pictures.example(60)),
    "chain.mmd": lambda: chain_mermaid(pictures.example_chain()),
}
HOSTILE = (
    "</text></svg><script>alert(1)</script>", "<!-- ", "]]>", "&lt;b&gt; &#0; &bogus;",
    '"]; click n0 "javascript:alert(1)"', '%%{init: {"theme": "dark"}}%%', "---\ntitle: x\n---",
    "end", "subgraph x", "n0 --> n1", "n0@{shape: rect}", "style n0 fill:#f00;", "#quot;#35;",
    "1. list", "- list", "+ list", "> quote", "# head", "=== head", "**b** _i_ `c` ~~s~~",
    "$$x^2$$", "fa:fa-car", "https://evil.example www.evil.example", "[a](b) [c]: d", "me@x.org",
    "a\u202eb\u2066c", "\x1b[31m\x00\x07", "\ud800", "\ufffe\uffff", "\u200b\u00ad", "\ufdfd" * 40,
    "Z" + "\u0335\u0310" * 60, "👨\u200d👩\u200d👧 " * 30, "日本語の文章です" * 20, "مرحبا " * 30,
    "\ufb02\xb0\xb060\xb6\xdfb", "C:\\new\\table", "x" * 5_000, "", " \n\t ",
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.sampled_from(HOSTILE), st.text("<>&\"'[](){}|#;%`$*_~-=:./\\@!+\n"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_documentation_are_drawn_as_they_are_shown(name):
    drawn = EXAMPLES[name]()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / name).write_text(drawn, encoding="utf-8")
    assert drawn == (FOLDER / name).read_text(encoding="utf-8")


# --- SVG ------------------------------------------------------------------------------------------


@given(st.lists(TEXTS, min_size=1, max_size=20), st.lists(TEXTS, min_size=1, max_size=8))
@with_example(list(HOSTILE), list(HOSTILE))
def test_no_text_breaks_an_svg_or_adds_to_it(texts, types):
    around = pictures.of_texts(texts, types)
    plain = pictures.of_texts(["word"] * len(texts), types)
    for draw in (graph_svg, chain_svg):
        drawn = draw(around)
        tree = ET.fromstring(drawn)
        assert set(_tags(tree)) <= {
            "svg",
            "title",
            "defs",
            "marker",
            "path",
            "rect",
            "g",
            "text",
            "circle",
        }
        expected = _tags(ET.fromstring(draw(plain)))
        for tag in set(expected) - {"text"}:
            assert _tags(tree).count(tag) == expected.count(tag)
        assert all(char == "\n" or char in "\u200c\u200d" or char.isprintable() for char in drawn)
        assert not {name for each in tree.iter() for name in each.attrib if name.startswith("on")}
        assert "href" not in {name for each in tree.iter() for name in each.attrib}


def test_words_stay_inside_their_box():
    for text in (*HOSTILE, *pictures.SAYINGS, "WWWWWW MMMM svg.svg. " * 9, "iiii llll " * 30):
        rows = svg.wrapped(one_line(text), 14.0, 2)
        assert len(rows) <= 2
        assert all(svg.width(row) <= 14.0 for row in rows)
    tree = ET.fromstring(graph_svg(pictures.example(60)))
    words = list(tree.iter(f"{SVG}text"))
    boxes = [each for each in tree.iter(f"{SVG}svg") if each is not tree]
    assert len(boxes) == 60  # an inner svg cuts off what a font draws wider than we count
    assert len(words) > 120


def test_long_texts_are_cut_after_a_word_and_say_so():
    text = "We moved the checkout page to the new cluster because of its memory"
    assert svg.wrapped(text, 14.0, 2) == [
        "We moved the checkout",
        "page to the new cluster…",
    ]
    assert svg.wrapped("short", 14.0, 2) == ["short"]
    assert cut(text, 20) == "We moved the…"
    assert cut("x" * 30, 20) == "x" * 19 + "…"
    assert cut("日本語の文章です" * 3, 10) == "日本語の…"


def test_the_asked_memory_and_those_that_are_not_active_are_marked():
    found = [pictures.memory(0, "asked")]
    found += [pictures.memory(number, f"is {status}", status=status)
              for number, status in enumerate(Status, start=1)]  # fmt: skip
    links = [Link(found[0].id, each.id, "related") for each in found[1:]]
    around = Neighbourhood(found[0].id, tuple(found), tuple(links))
    drawn = graph_svg(around)
    for status in set(Status) - {Status.ACTIVE}:
        assert f"2026-03-0{list(Status).index(status) + 3} · {status}</text>" in drawn
    assert drawn.count('stroke-width="3.0"') == 1
    assert "is deleted" not in drawn
    assert "is deleted" not in graph_mermaid(around)
    assert "(deleted)" in drawn


def test_each_type_of_link_has_a_look_of_its_own_and_a_line_in_the_legend():
    types = (
        "similar",
        "part_of",
        "derived_from",
        "related",
        "follows",
        "depends_on",
        "a",
        "b",
        "c",
        "d",
    )
    shown = picture(pictures.of_texts(["text"] * 11, types))
    assert set(shown.looks) == set(types)
    assert len({(look.color, look.dash) for look in shown.looks.values()}) == len(types)
    drawn = graph_svg(pictures.of_texts(["text"] * 11, types))
    assert all(f">{name} (1)</text>" in drawn for name in types)
    many = picture(pictures.of_texts(["text"] * 21, [f"own {number}" for number in range(20)]))
    assert [*many.looks][-1] == "other types"
    assert sum(edge.type == "other types" for edge in many.edges) == 16


def test_what_is_not_drawn_is_counted():
    around = replace(pictures.example(5), more=7)
    assert "7 more within reach are not drawn" in graph_svg(around)
    assert 'rest["not drawn: 7 more memories"]' in graph_mermaid(around)
    assert "not drawn" not in graph_svg(pictures.example(5))


def test_two_ways_of_a_similarity_are_one_line_and_lines_to_nowhere_are_left_out():
    found = [pictures.memory(number, "text") for number in range(2)]
    one, two = (each.id for each in found)
    links = (
        Link(one, two, "similar", 0.6),
        Link(two, one, "similar", 0.8),
        Link(one, one, "related"),
        Link(one, "mem_elsewhere", "related"),
        Link(one, two, "part_of"),
        Link(two, one, "part_of"),
    )
    shown = picture(Neighbourhood(one, tuple(found), links))
    assert [(edge.type, edge.similarity) for edge in shown.edges] == [
        ("similar", 0.8),
        ("part_of", None),
        ("part_of", None),
    ]
    assert "mem_elsewhere" not in graph_svg(Neighbourhood(one, tuple(found), links))


# --- Chains ---------------------------------------------------------------------------------------


def test_a_chain_has_each_memory_above_the_one_that_took_its_place():
    shown = picture(pictures.example_chain())
    order = oldest_first(shown)
    assert [shown.nodes[node].claim for node in order] == [
        f"user · editor: {name}" for name in pictures.EDITORS
    ]
    rails, steps = on_rails(shown, order)
    assert [rails[node] for node in order] == [0, 1, 0, 0, 0]
    assert {(order.index(step.node), order.index(step.to), step.type) for step in steps} == {
        (0, 2, "superseded by"),
        (1, 2, "superseded by"),
        (2, 3, "superseded by"),
        (3, 4, "perhaps updated by"),
    }


def test_a_chain_of_one_memory_says_that_nothing_took_its_place():
    alone = pictures.memory(1, "text")
    drawn = chain_svg(Neighbourhood(alone.id, (alone,), ()))
    assert f"{alone.id} superseded nothing and was not superseded" in drawn


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_no_chain_puts_two_lines_on_one_rail(successors):
    found = [pictures.memory(number, "text") for number in range(len(successors))]
    found = [
        replace(each, successor=found[to].id if to < len(found) else None)
        for each, to in zip(found, successors, strict=True)
    ]
    chain = Neighbourhood(found[0].id, tuple(found), ())
    shown = picture(chain)
    order = oldest_first(shown)
    assert sorted(order) == list(range(len(found)))
    rails, steps = on_rails(shown, order)
    rows = {node: row for row, node in enumerate(order)}
    for step in steps:
        between = range(rows[step.node] + 1, rows[step.to])
        assert not any(rails[order[row]] == step.rail for row in between)
    ET.fromstring(chain_svg(chain))


def test_the_claim_of_a_deleted_memory_is_not_drawn():
    gone = pictures.memory(0, "secret", status=Status.DELETED,
                           claim=Claim(subject="user", predicate="pin", value="1234"))  # fmt: skip
    around = Neighbourhood(gone.id, (gone,), ())
    for drawn in (chain_svg(around), chain_mermaid(around), graph_mermaid(around)):
        assert "1234" not in drawn
        assert "secret" not in drawn


# --- Mermaid --------------------------------------------------------------------------------------


@given(st.lists(TEXTS, min_size=1, max_size=20), st.lists(TEXTS, min_size=1, max_size=8))
@with_example(list(HOSTILE), list(HOSTILE))
def test_mermaid_finds_nothing_but_our_lines_in_any_text(texts, types):
    around = pictures.of_texts(texts, types)
    for drawn in (graph_mermaid(around), chain_mermaid(around)):
        head, *rows = drawn.splitlines()
        assert head in {"flowchart LR", "flowchart TB"}
        nodes = [row for row in rows if NODE.fullmatch(row)]
        assert len(nodes) == len(texts)
        assert all(KNOWN.fullmatch(row) for row in rows)
        assert all(char == "\n" or char.isprintable() for char in drawn)


@given(TEXTS)
def test_a_label_decodes_to_a_text_in_which_no_version_of_mermaid_acts(text):
    shown = escaped(one_line(text))
    assert all(_plain(char) for char in re.sub(r"#\d+;", "", shown))
    read = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), shown)
    for acting in ACTING:
        assert not re.search(acting, read)
    for acting in (r"[%&<>{}\[\]\"`|;:#]", r"--", "==", "~~~"):
        assert not re.search(acting, re.sub(r"#\d+;", "", shown))


def test_honest_labels_stay_readable():
    assert escaped("Ana's cat, Mia - isn't she 3 years old?") == (
        "Ana's cat, Mia #45; isn't she 3 years old?"
    )
    assert escaped("snake_case and naïve 日本語 हिंदी") == "snake#95;case and naïve 日本語 हिंदी"


def test_many_memories_are_drawn_by_their_ways_to_the_asked_one():
    around = pictures.example(60)
    drawn = graph_mermaid(around)
    lines = [row for row in drawn.splitlines() if re.match(r" +n\d+ -", row)]
    assert 59 <= len(lines) < len(picture(around).edges)
    left = len(picture(around).edges) - len(lines)
    assert f'rest["not drawn: 23 more memories and {left} more links"]' in drawn


def test_the_largest_picture_is_within_the_limits_of_mermaid():
    texts = ["%" * 300] * 200
    around = pictures.of_texts(texts, ["%" * 30])
    ids = [each.id for each in around.memories]
    more = tuple(Link(one, two, "part_of") for one in ids[:40] for two in ids[60:80])
    drawn = graph_mermaid(replace(around, links=(*around.links, *more)))
    assert len(drawn) < 50_000
    assert len(re.findall(r"(?m)^ +n\d+ -", drawn)) < 500


def _plain(char: str) -> bool:
    return char.isalnum() or char in " ,.'-?!…" or not char.isascii()


def _tags(tree: ET.Element) -> list[str]:
    return [each.tag.removeprefix(SVG) for each in tree.iter()]


_LABEL = r"(?:[^\"`{}\[\]|%<>&;#\n]|#\d+;)*"
NODE = re.compile(
    rf" +n\d+\[\"(?:{_LABEL}<br>)?{_LABEL}<br>"
    r"<small>[a-z ]+ \d{4}-\d\d-\d\d(?: - [a-z]+)?</small>\"\]"
)
_EDGE = rf" +n\d+ (?:--[->]|-\.->?)(?:\|\"{_LABEL}\"\|)? n\d+"
_STYLE = r" +(?:linkStyle [\d,]+ stroke:#\w+|classDef \w+ [\w:#, -]+|class [n\d,]+ \w+)"
KNOWN = re.compile(rf"{NODE.pattern}|{_EDGE}|{_STYLE}")
ACTING = (
    r"\\", r"\$\$", r"fa[bklrs]?:fa-", "\ufb02\xb0", "\xb6\xdf", r"\*", "`", "~", r"^[-+#>=:]",
    r"^\d+[.)]", r"\](?:\(|:)", r"://", r"(?i)\bwww\.", r"(?<![^\W_])_", r"_(?![^\W_])",
)  # fmt: skip
