"""Propose, show, approve and undo a change from the command line."""

from tests.surface.command import CommandLine


def proposed(cli: CommandLine, *words: str) -> str:
    return cli(*words, "--propose").out.split()[2].rstrip(":")


def test_an_update_is_proposed_shown_approved_and_undone(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    asked = proposed(cli, "update", "--id", id_, "--content", "It closes at five.")
    assert asked.startswith("prop_")
    assert "six" in cli("get", "--id", id_).out
    listed = cli("review")
    assert listed.out.splitlines()[0] == "[MemoryMesh] 1 waits for review."
    assert f"{asked}  update of {id_}: It closes at five." in listed.out
    shown = cli("review", "--id", asked)
    assert "The office closes at six." in shown.out
    assert "It closes at five." in shown.out
    assert f"{id_} is updated" in cli("review", "--id", asked, "--approve").out
    assert "five" in cli("get", "--id", id_).out
    assert "waits for review again" in cli("review", "--id", asked, "--undo").out
    assert "six" in cli("get", "--id", id_).out


def test_a_delete_is_proposed_and_rejected(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    asked = proposed(cli, "delete", "--id", id_, "--reason", "old")
    assert f"{id_} is unchanged" in cli("review", "--id", asked, "--reject").out
    assert "six" in cli("get", "--id", id_).out
    again = cli("review", "--id", asked, "--approve")
    assert again.code == 1
    assert "is decided; undo that first" in again.err


def test_a_rejected_change_is_not_proposed_again(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    change = ("update", "--id", id_, "--content", "It closes at five.")
    asked = proposed(cli, *change)
    cli("review", "--id", asked, "--reject", "--reason", "wrong")
    again = cli(*change, "--propose")
    assert again.code == 1
    assert f"{asked} says the same and was rejected: wrong" in again.out


def test_what_an_agents_shell_deletes_of_the_users_is_proposed(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    agent = CommandLine(cli.home, variables={"CLAUDECODE": "1"})
    asked = agent("delete", "--id", id_)
    assert asked.code == 0
    assert asked.out.startswith("[MemoryMesh] Proposed prop_")
    proposal = asked.out.split()[2].rstrip(":")
    assert f"{id_} is not deleted" in asked.err
    assert "stays until a person decides" in asked.err
    assert f"memory-mesh review --id {proposal} --approve" in asked.err
    assert f"env -u CLAUDECODE memory-mesh delete --id {id_}" in asked.err
    assert "six" in cli("get", "--id", id_).out
    cli("delete", "--id", id_)
    refused = agent("restore", "--id", id_)
    assert (refused.code, refused.out) == (1, "")
    assert f"memory-mesh restore --id {id_}" in refused.err
    assert cli("restore", "--id", id_).code == 0


def test_the_help_of_delete_says_what_it_does_in_an_agents_shell(cli: CommandLine) -> None:
    said = " ".join(cli("delete", "--help").out.split())
    assert "In an agent's shell, what the user stored is not deleted" in said
    assert "memory-mesh review --id ID --approve" in said
    assert "env -u CLAUDECODE memory-mesh delete --id ID" in said


def test_the_list_names_every_field_that_a_proposal_changes(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    change = ("update", "--id", id_, "--importance", "0.9", "--trigger", "office")
    more = ("--meta", "title=Hours", "--meta", "a, pinned=1")
    text = proposed(cli, *change, *more, "--content", "It closes at five. " + "So it is. " * 20)
    fields = """importance, triggers, metadata title, metadata "a; pinned\""""
    listed = cli("review").out.splitlines()
    assert listed[1].startswith(f"{text}  update of {id_}: It closes at five.")
    assert listed[2] == f"    also: {fields}"
    cli("review", "--id", text, "--reject")
    other = proposed(cli, *change)
    assert f"{other}  update of {id_}: importance, triggers\n" in cli("review").out


def test_the_list_says_that_a_proposal_removes_metadata(cli: CommandLine) -> None:
    id_ = cli.stored("The office closes at six.")
    proposed(cli, "update", "--id", id_, "--metadata", '{"title": "Hours"}')
    assert ": metadata title, all other metadata is removed\n" in cli("review").out
