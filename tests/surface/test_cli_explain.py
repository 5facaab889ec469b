"""`memory-mesh explain`: the sentences first, the numbers under them."""

import json

from tests.surface.command import CommandLine


def test_a_memory_is_explained_in_sentences_and_numbers(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read")
    told = cli("explain", id_).out
    assert told.startswith(f"{id_} was stored at ")
    sentences, _, numbers = told.partition("\n\n")
    assert "Its trust is 1.00" in sentences
    assert numbers.startswith("trust 1 = +1 source\nversion ")
    assert "\nblock yamo_retain_" in numbers
    assert cli("explain", "--id", id_).out == told


def test_a_question_is_answered_with_the_shares_of_the_margin(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read")
    told = cli("explain", id_, "--query", "dark themes", "--keyword").out
    assert told.startswith(f"{id_} is hit 1 of 1")
    assert "\nplace 1 of 1  score 0." in told
    assert "\n  +1.000000  line_covered_passage\n" in told
    plain = json.loads(cli("explain", id_, "--query", "dark themes", "--keyword", "--json").out)
    assert plain["gate"] is None
    assert plain["rank"]["base"] + sum(plain["rank"]["shares"].values()) == plain["rank"]["margin"]


def test_the_gate_is_named_and_what_would_open_it(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read", "--project", "shop")
    asked = ("explain", id_, "--query", "dark", "--keyword", "--project", "shop")
    filtered = cli(*asked, "--filter", "tags = 'work'", "--json")
    assert json.loads(filtered.out)["gate"] == "filter"
    assert "Leave the filter out" in cli(*asked, "--filter", "tags = 'work'").out
    asked = (*asked[:-1], "other")
    elsewhere = cli(*asked)
    assert elsewhere.code == 1
    assert f"there is no memory {id_} for the project other" in elsewhere.err
    seen = cli(*asked, "--see-all")
    assert "the search reads for project other" in seen.out
    assert cli(*asked, "--all-projects").out.startswith(f"{id_} is hit 1")


def test_an_unknown_id_says_what_to_do(cli: CommandLine) -> None:
    answer = cli("explain", "mem_1_000000")
    assert answer.code == 1
    assert "there is no memory mem_1_000000" in answer.err
    assert "give one ID" in cli("explain").err


def test_a_deleted_memory_is_explained_in_words_of_the_command_line(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read")
    cli("delete", id_)
    told = cli("explain", id_, "--query", "dark themes", "--keyword").out
    assert "Search with --include deleted to see it." in told


def test_an_unknown_id_is_the_same_error_with_a_question_and_without(cli: CommandLine) -> None:
    cli.stored("dark themes are easier to read")
    for id_ in ("nope", "mem_1767225600000_0a1b2c"):
        plain = cli("explain", id_)
        asked = cli("explain", id_, "--query", "dark themes", "--keyword")
        assert plain.code == 1
        assert (asked.code, asked.out, asked.err) == (plain.code, plain.out, plain.err)
