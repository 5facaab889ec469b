"""What argparse says, in words for a person."""

import pytest

from memory_mesh.cli import command_table


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serach", "tea"], "unknown command 'serach'; did you mean search?"),
        (["hlep"], "unknown command 'hlep'; did you mean help?"),
        (["remembr", "tea"], "unknown command 'remembr'; did you mean store?"),
        (["--db-dri", "x", "list"], "unknown option --db-dri before the command; did you mean"),
        (["search", "tea", "--limt", "3"], "unknown option --limt; did you mean --limit?"),
        (["search", "tea", "--min", "3"], "unknown option --min; did you mean --min-relevance?"),
        (["search", "tea", "--limit", "x"], "--limit takes a whole number, not 'x'."),
        (["search", "tea", "--limit"], "--limit needs a value."),
        (["search"], "WORDS is missing; for example: memory-mesh search "),
        (
            ["rate", "mem_1_a"],
            "give --helpful or --not-helpful; for example: memory-mesh memory rate ",
        ),
        (["rate", "mem_1_a", "--helpful", "--not-helpful"], "exclude each other; give one"),
        (["list", "--include", "archivd"], "not 'archivd'; did you mean archived?"),
        (["get", "mem_1_a", "mem_2_b"], "one id at a time: repeat the command for each"),
        (["export"], "give a FILE. See: memory-mesh export --help"),
        (["export", "a", "--to", "b"], "give the FILE once."),
    ],
)
def test_a_wrong_command_line_says_what_to_type(words: list[str], told: str) -> None:
    with pytest.raises(command_table.UsageError) as refused:
        command_table.read(words)
    assert told in str(refused.value)


def test_a_usage_says_that_a_file_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_table.read(["export", "--help"])
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert usage.split()[-1] == "FILE"


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["import", "a.tar.gz"], "source", "a.tar.gz"),
        (["import", "--from", "a.tar.gz"], "source", "a.tar.gz"),
        (["export", "a.tar.gz"], "to", "a.tar.gz"),
        (["backup", "folder"], "to", "folder"),
    ],
)
def test_a_file_or_folder_needs_no_option(words: list[str], name: str, value: str) -> None:
    _, options = command_table.read(words)
    assert getattr(options, name) == value
