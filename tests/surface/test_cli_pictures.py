"""`memory-mesh graph`: what is drawn of a store, and for whom."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from memory_mesh.base.typed import replace
from memory_mesh.cli.commands import graph
from memory_mesh.formats.mermaid import graph_mermaid
from memory_mesh.model import Scope
from memory_mesh.model.graph import Neighbourhood
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine
from tests.unit.formats import pictures

PAGE = Path(__file__).parents[2] / "docs" / "graph.md"


@pytest.fixture
def ids(cli: CommandLine) -> dict[str, str]:
    """A small store: tea, two memories that are linked to it, and a city that changed."""
    with MemoryMesh(db_dir=cli.store, embedder="none", project="") as mesh:
        found = {
            name: str(mesh.add(text).id)
            for name, text in (
                ("tea", "Ana drinks green tea"),
                ("cup", "The blue cup is Ana's"),
                ("shelf", "The cup stands on the upper shelf"),
                ("far", "The shelf is from Oslo"),
            )
        }
        mesh.graph.link(found["tea"], found["cup"], type="related")
        mesh.graph.link(found["cup"], found["shelf"], type="part_of")
        mesh.graph.link(found["shelf"], found["far"], type="related")
        for city in ("Paris", "Rome", "Oslo"):
            claim = {"subject": "Ana", "predicate": "city", "value": city}
            found[city] = str(mesh.add(f"Ana lives in {city}", claim=claim).id)
        mesh.graph.link(found["tea"], found["Oslo"], type="related")
    return found


def test_the_neighbourhood_is_printed_as_mermaid(cli: CommandLine, ids: dict[str, str]) -> None:
    done = cli("graph", ids["tea"])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("flowchart LR\n")
    labels = re.findall(r'n(\d+)\["(.*?)<br><small>', done.out)
    assert {text.rpartition("<br>")[2] for _, text in labels} == {
        "Ana drinks green tea", "The blue cup is Ana's", "The cup stands on the upper shelf",
        "Ana lives in Oslo",
    }  # fmt: skip
    assert '|"part#95;of"|' in done.out
    assert "class n0 asked" in done.out
    assert cli("graph", "--id", ids["tea"], "--hops", "2").out == done.out
    assert "The shelf is from Oslo" in cli("graph", ids["tea"], "--hops", "3").out
    assert "upper shelf" not in cli("graph", ids["tea"], "--hops", "1").out


def test_a_file_that_ends_in_svg_gets_a_picture(
    cli: CommandLine, ids: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "around.svg"
    done = cli("graph", ids["tea"], "--output", str(path))
    assert done.out == f"[MemoryMesh] Drew 4 memories to {path}.\n"
    ET.fromstring(path.read_text())
    assert path.read_text() == cli("graph", ids["tea"], "--format", "svg").out
    limited = cli("graph", ids["tea"], "--limit", "2", "--output", str(path))
    assert "Drew 2 memories" in limited.out
    assert "2 more within reach are not drawn" in limited.out
    assert "2 more within reach are not drawn" in path.read_text()


def test_the_chain_of_a_claim_is_drawn_from_any_of_its_memories(
    cli: CommandLine, ids: dict[str, str]
) -> None:
    for city in ("Paris", "Rome", "Oslo"):
        done = cli("graph", ids[city], "--chain")
        assert done.out.startswith("flowchart TB\n")
        assert done.out.count('-->|"superseded by"|') == 2
        assert done.out.count(" - superseded</small>") == 2
        assert "tea" not in done.out
    drawn = cli("graph", ids["Rome"], "--chain", "--format", "svg").out
    texts = [
        each.text or "" for each in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")
    ]
    rows = [text for text in texts if text.startswith("Ana lives")]
    assert rows == ["Ana lives in Paris", "Ana lives in Rome", "Ana lives in Oslo"]
    assert "superseded by (2)" in texts


def test_json_has_the_memories_and_links_instead_of_a_picture(
    cli: CommandLine, ids: dict[str, str], tmp_path: Path
) -> None:
    found = json.loads(cli("graph", ids["tea"], "--hops", "1", "--json").out)
    assert found["center"] == ids["tea"]
    assert {each["id"] for each in found["memories"]} == {ids["tea"], ids["cup"], ids["Oslo"]}
    assert {(each["source"], each["target"], each["type"]) for each in found["links"]} == {
        (ids["tea"], ids["cup"], "related"),
        (ids["tea"], ids["Oslo"], "related"),
    }
    assert found["more"] == 0
    chain = json.loads(cli("graph", ids["Rome"], "--chain", "--json").out)
    assert {(each["source"], each["target"], each["type"]) for each in chain["links"]} == {
        (ids["Rome"], ids["Paris"], "supersedes"),
        (ids["Oslo"], ids["Rome"], "supersedes"),
    }
    path = tmp_path / "around.mmd"
    written = json.loads(cli("graph", ids["tea"], "--json", "--output", str(path)).out)
    assert written["path"] == str(path)
    assert path.read_text().startswith("flowchart LR")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["mem_1"], 1, "there is no memory mem_1"),
        ([], 2, "give one ID. See: memory-mesh graph --help"),
        (["{tea}", "--limit", "201"], 2, "--limit takes 1 to 200"),
        (["{tea}", "--limit", "0"], 2, "--limit takes 1 to 200"),
        (["{tea}", "--hops", "11"], 1, "hops is a whole number from 1 to 10"),
        (["{tea}", "--chain", "--hops", "2"], 2, "it takes no --hops"),
        (["{tea}", "--output", "nowhere/x.svg"], 2, "there is no folder nowhere"),
        (["{Paris}"], 2, "--include superseded"),
        (["{Paris}"], 2, "--chain"),
        (["mem_1", "--chain"], 1, "there is no memory mem_1"),
    ],
)
def test_errors_say_what_to_do_next(
    cli: CommandLine, ids: dict[str, str], words: list[str], code: int, said: str
) -> None:
    done = cli("graph", *(word.format(**ids) for word in words))
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_help_has_an_example_and_the_overview_a_line(cli: CommandLine) -> None:
    assert "example:\n  memory-mesh graph mem_" in cli("graph", "--help").out
    assert "  graph draw " in cli("help", "--all").out


def test_a_superseded_memory_is_drawn_when_asked_for(cli: CommandLine, ids: dict[str, str]) -> None:
    done = cli("graph", ids["Paris"], "--include", "superseded")
    assert done.code == 0
    assert "Ana lives in Paris" in done.out


def test_memories_of_others_are_not_drawn_and_not_counted(
    cli: CommandLine, ids: dict[str, str]
) -> None:
    with MemoryMesh(db_dir=cli.store, embedder="none", project="") as mesh:
        secret = str(mesh.add("a secret of apollo", scope=Scope(project="apollo")).id)
        before = cli("graph", ids["tea"], "--project", "")
        mesh.graph.link(ids["tea"], secret, type="related", scope=Scope(project="apollo"))
    assert "secret" in cli("graph", ids["tea"], "--project", "apollo").out
    assert cli("graph", ids["tea"], "--project", "").out == before.out
    unseen = cli("graph", secret, "--project", "")
    unknown = cli("graph", "mem_1", "--project", "")
    assert unseen.err.replace(secret, "mem_1") == unknown.err
    hidden = cli("graph", secret, "--project", "", "--chain")
    assert hidden.err.replace(secret, "mem_1") == unknown.err


def test_a_hostile_memory_cannot_act_on_the_terminal_or_the_picture(
    cli: CommandLine, ids: dict[str, str]
) -> None:
    hostile = cli.stored(
        '\x1b[31m"]; click n0 "x" </text><script>alert(1)</script>', "--project", ""
    )
    drawn = cli("graph", hostile, "--project", "").out
    assert "\x1b" not in drawn
    assert [row.split()[0] for row in drawn.splitlines()] == [
        "flowchart", 'n0["#8726;x1b#91;31m#34;#93;#59;', "classDef", "class",
    ]  # fmt: skip
    picture = cli("graph", hostile, "--project", "", "--format", "svg").out
    assert "<script" not in picture
    ET.fromstring(picture)


def test_a_long_chain_is_cut_around_the_asked_memory() -> None:
    found = tuple(pictures.memory(number, "text") for number in range(500))
    chain = Neighbourhood(found[400].id, found, ())
    kept = graph._shortened(chain)
    assert (len(kept.memories), kept.more) == (200, 300)
    assert found[400] in kept.memories
    few = replace(chain, memories=found[390:410])
    assert graph._shortened(few) == few


def test_the_page_shows_the_pictures_and_names_the_options(cli: CommandLine) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(graph_mermaid(pictures.example(5))) == 1
    shown = re.findall(r"\]\((pictures/[\w.-]+)\)", text)
    assert len(shown) == 3
    assert all((PAGE.parent / name).is_file() for name in shown)
    told = cli("graph", "--help").out
    assert all(name in told for name in set(re.findall(r"`(--[a-z]+)", text)))
