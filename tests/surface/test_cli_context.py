"""`memory-mesh context` prints the text for a prompt and nothing else to standard output."""

import json

import pytest

from tests.surface.command import CommandLine


@pytest.fixture
def teas(cli: CommandLine) -> CommandLine:
    cli.stored("Ann drinks hot tea with milk")
    cli.stored("The kettle is in the kitchen")
    return cli


def test_the_text_goes_to_standard_output_and_the_summary_to_standard_error(
    teas: CommandLine,
) -> None:
    done = teas("context", "what", "tea", "does", "Ann", "drink?")
    first, *_, last = done.out.splitlines()
    assert first.startswith("<memories-")
    assert last == first.replace("<", "</")
    assert "| Ann drinks hot tea with milk\n" in done.out
    assert done.err.startswith("[MemoryMesh] 1 memory, ")
    assert teas("context", "what", "tea", "does", "Ann", "drink?").out == done.out


def test_nothing_relevant_prints_nothing(teas: CommandLine) -> None:
    done = teas("context", "zebra")
    assert done.out == ""
    assert done.err == "[MemoryMesh] Nothing is relevant enough.\n"


def test_json_holds_the_whole_pack(teas: CommandLine) -> None:
    plain = json.loads(teas("context", "--json", "--max-tokens", "500", "--no-record").out)
    assert [item["section"] for item in plain["items"]] == ["recent", "recent"]
    assert plain["tokens"] <= plain["max_tokens"] == 500
    assert plain["injection_id"] is None
    assert plain["text"].count(plain["fence"]) == 2
    compact = json.loads(teas("context", "--compact", "--format", "json").out)
    assert [one["text"] for one in compact["memories"]][1] == "Ann drinks hot tea with milk"


def test_a_wrong_format_says_which_there_are(teas: CommandLine) -> None:
    done = teas("context", "tea", "--format", "yaml")
    assert "format must be one of: markdown, xml, json" in done.err
