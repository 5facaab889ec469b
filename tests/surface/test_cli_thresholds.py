"""A search says what its threshold left out, and `--all` shows it."""

import json
import re

import pytest

from tests.surface.command import CommandLine

ALL_BELOW = re.compile(r"\[MemoryMesh\] Nothing relevant \(best 0\.\d+\); --all shows it\.\n")


@pytest.fixture
def teas(cli: CommandLine) -> CommandLine:
    cli.stored("hot tea with milk")
    cli.stored("tea")
    return cli


def test_an_answer_that_the_threshold_emptied_says_so_everywhere(teas: CommandLine) -> None:
    asked = ("search", "tea", "--min-relevance", "1")
    piped = teas(*asked)
    assert piped.out.startswith("[MemoryMesh] Found 0 matches.\n")
    assert ALL_BELOW.fullmatch(piped.err)
    plain = teas(*asked, "--json")
    note = f"[MemoryMesh] {json.loads(plain.err)['note']}\n"
    assert (json.loads(plain.out), bool(ALL_BELOW.fullmatch(note))) == ({"items": []}, True)
    assert ALL_BELOW.search(teas.on_terminal(*asked).out)
    assert teas("search", "zebra", "--min-relevance", "1").err == ""


def test_hits_below_the_threshold_are_a_hint_on_a_terminal(teas: CommandLine) -> None:
    found = json.loads(teas("search", "hot tea with milk", "--all", "--json").out)["items"]
    best, second = (hit["score"] for hit in found)
    asked = ("search", "hot tea with milk", "--min-relevance", str(best))
    told = f"1 less relevant left out (best {second:.2g}); --all shows them"
    assert told in teas.on_terminal(*asked).out
    assert teas(*asked).err == ""
    assert "left out" not in teas.on_terminal("search", "hot tea with milk", "--all").out


def test_an_explanation_has_the_numbers(teas: CommandLine) -> None:
    asked = ("search", "tea", "--min-relevance", "1", "--explain")
    assert re.search(r"\nBelow the threshold: 2 \| Best: 0\.\d+\n", teas(*asked).out)
    answer = json.loads(teas(*asked, "--json").out)
    assert answer["items"] == []
    assert answer["explanation"]["below"] == 2
    assert 0 < answer["explanation"]["best_below"] < 1
    assert answer["explanation"]["profile"] == "mesh"
