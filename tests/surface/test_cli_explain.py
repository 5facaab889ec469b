"""`memory-mesh explain`: sentences that need no manual; the numbers behind `--numbers`."""

import json

from tests.surface.command import CommandLine


def test_a_memory_is_explained_in_sentences(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read", "--project", "shop")
    asked = ("explain", id_, "--project", "shop")
    told = cli(*asked).out
    assert told == (
        "You said it yourself, just now, for the project shop.\n"
        "It is active: a search can find it.\n"
        "It is trusted fully.\n"
    )
    assert cli("explain", "--id", *asked[1:]).out == told
    with_numbers = cli(*asked, "--numbers").out
    assert with_numbers.startswith(f"{told}\n{id_} was stored at ")
    sentences, _, numbers = with_numbers.removeprefix(f"{told}\n").partition("\n\n")
    assert "Its trust is 1.00" in sentences
    assert numbers.startswith("trust 1 = +1 source\nversion ")
    assert "\nblock yamo_retain_" in numbers


def test_what_an_agent_concluded_is_called_so(cli: CommandLine) -> None:
    agent = CommandLine(cli.home, variables={"CLAUDECODE": "1"})
    told = cli("explain", agent.stored("the gate is green")).out
    assert "An agent concluded it by itself, just now, for every project." in told
    assert "It is trusted little." in told


def test_a_place_is_explained_by_what_stands_above_it(cli: CommandLine) -> None:
    words = ("--query", "which day do deploys of the shop run", "--keyword", "--min-relevance", "0")
    last = cli.stored("deploys run")
    first, second = (
        cli.stored(f"deploys of the shop run on the same day, {when}") for when in ("Friday", "May")
    )
    told = {id_: cli("explain", id_, *words).out for id_ in (first, second, last)}
    assert "because two newer notes answer better with more of your words" in told[last]
    assert "It has some of your words." in told[last]
    places = sorted(told[id_].split()[2] for id_ in (first, second))
    assert places == ["first", "second"]
    lower = next(id_ for id_ in (first, second) if told[id_].startswith("It is second"))
    assert "note says much the same" in told[lower]
    assert all("score" not in each and "(+" not in each for each in told.values())
    only = cli("explain", last, *words, "--limit", "2").out
    assert only == "It comes third, and the search shows two.\nTo see it: --limit 3\n"


def test_the_only_answer_is_called_so(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read")
    told = cli("explain", id_, "--query", "dark themes", "--keyword").out
    assert told == "It is the only answer.\nIt has all of your words.\n"


def test_a_question_is_answered_with_the_shares_of_the_margin(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read")
    asked = ("explain", id_, "--query", "dark themes", "--keyword")
    told = cli(*asked, "--numbers").out
    assert f"\n\n{id_} is hit 1 of 1" in told
    assert "\nplace 1 of 1  score 0." in told
    assert "\n  +1.000000  line_covered_passage\n" in told
    plain = json.loads(cli(*asked, "--json").out)
    assert plain["gate"] is None
    assert plain["rank"]["base"] + sum(plain["rank"]["shares"].values()) == plain["rank"]["margin"]


def test_a_question_without_an_id_is_told_how_to_ask(cli: CommandLine) -> None:
    done = cli("why", "which day do we ship?")
    assert done.code == 1
    assert "memory-mesh search 'which day do we ship?'" in done.err
    assert "memory-mesh explain ID --query 'which day do we ship?'" in done.err
    assert "--query" not in cli("get", "which day do we ship?").err


def test_the_id_of_another_project_says_which_and_how_to_reach_it(cli: CommandLine) -> None:
    id_ = cli.stored("dark themes are easier to read", "--project", "the shop")
    asked = {
        "get": ((id_,), ""),
        "delete": ((id_,), ""),
        "explain": ((id_, "--query", "themes"), "; why it is not found from here: add --see-all"),
    }
    for name, (words, more) in asked.items():
        for here, where in (((), "here"), (("--project", "blog"), "for the project blog")):
            done = cli(name, *words, *here)
            assert (done.code, done.err) == (
                1,
                (
                    f"[MemoryMesh Error] there is no memory {id_} {where}, but there is for "
                    f"the project the shop. Add --project 'the shop'{more}\n"
                ),
            )
        assert cli(name, *words, "--user", "ann").err.startswith(
            f"[MemoryMesh Error] there is no memory {id_}. List all"
        )
    assert cli("get", id_, "--project", "the shop").code == 0
    sealed = cli.stored("only for this talk", "--project", "the shop", "--session", "s1")
    told = cli("get", sealed).err  # --all-projects does not list it
    assert "the shop" not in told


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
    assert "or with --all-projects" in seen.out
    assert cli(*asked, "--all-projects").out.startswith("It is the only answer.")


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
