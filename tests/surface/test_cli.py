"""Every command in a real process, its text byte for byte."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_mesh import __version__
from memory_mesh.cli import command_table
from tests.surface import golden
from tests.surface.command import SCRIPT, CommandLine

COMMANDS = (
    "store", "search", "get", "list", "update", "pin", "delete", "restore", "stats", "verify",
    "namespaces", "config", "completion", "trigger",
)  # fmt: skip
EARLIER = """
init doctor store search context get list evolve update pin delete restore rate reinforce dispute
review conflicts explain history reflect distill lessons synthesize ingest-skill search-skills
list-skills skill-feedback skill-prune trace trigger link links clusters graph episode project
ingest-dir mirror export import import-tables export-tables migrate-tables import-lane memory-log
stats verify backup repair salvage move namespaces keys upkeep reembed setup-server jobs worker
daemon mcp models config eval completion
add remember find recall show ls edit supersede rm forget why info clear reset wipe
"""
SCREEN = (24, 80)  # lines and columns of a terminal
LONGEST_HELP = 50  # lines
DARK = "The user prefers dark themes"
RFC_SEARCH = """\
[MemoryMesh] Found {N} matches.

[ATTENTION DIRECTIVE]
- ALIGN attention to entries with [IMPORTANCE >= 0.8]
- TREAT entries with [IMPORTANCE <= 0.4] as auxiliary

[MEMORY CONTEXT]
--- MEMORY 1: {id} [IMPORTANCE: {score}] ---
Type: {type} | Source: {source}
{content}
"""


# --- RFC-0011 §9.1 and §9.2 -----------------------------------------------------------------------


@pytest.mark.req("R-000-214", "R-000-227")
def test_store_takes_the_named_flags_and_prints_the_id(cli: CommandLine) -> None:
    done = cli(
        "store", "--content", DARK, "--type", "preference", "--rationale", "asked twice",
        "--hypothesis", "helps when a page is made", "--metadata", '{"ticket": 7}',
    )  # fmt: skip
    found = json.loads(cli("list", "--json").out)["items"]
    assert [memory["content"] for memory in found] == [DARK]
    assert done.out == f"[MemoryMesh] Ingested record {found[0]['id']}\n"
    assert found[0]["metadata"] == {
        "type": "preference",
        "rationale": "asked twice",
        "hypothesis": "helps when a page is made",
        "ticket": 7,
    }
    assert (done.code, done.err) == (0, "")


@pytest.mark.req("R-000-215", "R-000-228", "R-000-229", "R-000-230")
def test_search_prints_the_text_of_the_rfc(cli: CommandLine) -> None:
    id_ = cli.stored(DARK, "--type", "preference", "--source", "survey")
    cli.stored("Dark roast in the morning", "--type", "event")
    done = cli("search", "dark themes", "--limit", "1", "--filter", "type = 'preference'")
    assert done.out == RFC_SEARCH.format(
        N=1,
        id=id_,
        score="0.50",
        type="preference",
        source="survey (trust: inference)",
        content=DARK,
    )
    assert (done.code, done.err) == (0, "")


@pytest.mark.req("R-000-215")
def test_search_takes_all_words_a_limit_and_a_filter_each_alone(cli: CommandLine) -> None:
    cli.stored(DARK, "--type", "preference")
    cli.stored("Dark roast in the morning", "--type", "event")

    def found(*words: str) -> list[str]:
        items = json.loads(cli("search", *words, "--json").out)["items"]
        return [memory["content"] for memory in items]

    assert sorted(found("dark")) == ["Dark roast in the morning", DARK]
    assert len(found("dark", "--limit", "1")) == 1
    assert found("dark", "--filter", "type = 'event'") == ["Dark roast in the morning"]
    assert found("dark", "themes")[0] == DARK
    assert found("dark", "roast")[0] == "Dark roast in the morning"


@pytest.mark.req("R-000-217", "R-000-231", "R-000-232", "R-000-233", "R-000-234")
def test_stats_prints_four_lines(cli: CommandLine) -> None:
    cli.stored(DARK)
    assert cli("stats").out == (
        "[MemoryMesh] Total Memories: 1\n"
        "[MemoryMesh] Total Skills: 0\n"
        f"[MemoryMesh] DB Path: {cli.store}\n"
        "[MemoryMesh] Status: connected\n"
    )


def test_stats_masks_an_address_in_the_path_of_the_store(cli: CommandLine) -> None:
    store = str(cli.home / "bob@example.com")
    shown = json.loads(cli("config", "--db-dir", store, "--json").out)
    for words in (("stats",), ("stats", "--json")):
        done = cli("--db-dir", store, *words)
        assert done.code == 0, done.err
        assert "bob@example.com" not in done.out + done.err + str(shown)
        assert "/[" in done.out


@pytest.mark.req("R-000-234", "R-000-237")
def test_stats_of_a_broken_store_says_disconnected(cli: CommandLine) -> None:
    cli.stored(DARK)
    (file,) = (path for path in cli.store.rglob("*") if path.suffix in {".db", ".sqlite"})
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()
    file.write_bytes(b"this is no database, however long you look at it" * 100)
    done = cli("stats")
    assert done.out.splitlines()[-1] == "[MemoryMesh] Status: disconnected"
    assert done.err.startswith("[MemoryMesh Error] ")
    assert done.code == 1


@pytest.mark.req("R-000-219", "R-000-264")
def test_get_prints_one_memory(cli: CommandLine) -> None:
    id_ = cli.stored(DARK, "--type", "preference")
    done = cli("get", "--id", id_)
    assert done.out.splitlines()[0].split() == ["id:", id_]
    assert done.out.endswith(f"\n\n{DARK}\n")


@pytest.mark.req("R-000-220", "R-000-235", "R-000-264")
def test_delete_hides_a_memory_and_says_so(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    assert cli("delete", "--id", id_).out == f"[MemoryMesh] Deleted record {id_}\n"
    assert cli("get", "--id", id_).code == 1
    assert cli("list").out == ""
    assert cli("restore", "--id", id_).out == f"[MemoryMesh] Restored record {id_}\n"
    assert cli("get", "--id", id_).code == 0


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("store", [
            ("store", "--content", DARK, "--type", "preference"),
            ("store", "--content", DARK),
            ("store", "--content", DARK, "--allow-duplicate"),
        ]),
        ("search", [
            ("store", "--content", DARK, "--type", "preference", "--source", "survey"),
            ("store", "--content", "Two lines:\n\tthe second is about themes"),
            ("search", "dark themes"),
            ("search", "dark", "themes", "--limit", "1"),
            ("search", "zebra"),
        ]),
        ("stats", [("stats",), ("store", "--content", DARK), ("stats",)]),
        ("delete", [
            ("store", "--content", DARK),
            ("delete", "--id", "{1}"),
            ("delete", "--id", "{1}"),
            ("restore", "--id", "{1}"),
            ("restore", "--id", "{1}"),
        ]),
        ("get", [
            ("store", "--content", DARK, "--tag", "ui", "--importance", "high", "--meta", "seen=2"),
            ("get", "--id", "{1}"),
            ("update", "--id", "{1}", "--content", "The user prefers light themes"),
            ("pin", "--id", "{1}"),
            ("get", "--id", "{1}"),
            ("pin", "--id", "{1}", "--unpin"),
        ]),
        ("errors", [
            (),
            ("serch", "dark"),
            ("store",),
            ("store", '{"content": "dark"}'),
            ("search", '{"query": "dark"}'),
            ("store", "--content", ""),
            ("store", "--content", "x", "--metadata", "{broken"),
            ("store", "--content", "x", "--metadata", "[1]"),
            ("store", "--content", "x", "--meta", "novalue"),
            ("store", "--content", "x", "--importance", "huge"),
            ("store", "--content", "x", "--occurred-at", "soon"),
            ("get", "--id", "mem_1_000000"),
            ("search", "x", "--filter", "nope.deep = 1"),
            ("search", "x", "--limit", "0"),
            ("list", "--limit", "many"),
            ("--nonsense", "list"),
            ("verify", "--against", "missing.json"),
        ]),
    ],
)  # fmt: skip
def test_transcripts_are_as_they_were(
    cli: CommandLine, name: str, commands: list[tuple[str, ...]]
) -> None:
    golden.check(name, cli, commands)


# --- RFC-0011 §9.3: failing -----------------------------------------------------------------------


@pytest.mark.req("R-000-236", "R-000-237", "R-000-238")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("get", "--id", "mem_1_000000"), 1),
        (("store", "--content", " "), 1),
        (("search", "x", "--filter", "type ="), 1),
        (("restore", "--id", "mem_1_000000"), 1),
        (("--namespace", "n" * 2000, "list"), 1),
        (("store",), 2),
        (("nonsense",), 2),
        ((), 2),
    ],
)
def test_a_failure_is_one_prefixed_message_on_standard_error(
    cli: CommandLine, words: tuple[str, ...], code: int
) -> None:
    done = cli(*words)
    assert done.err.startswith("[MemoryMesh Error] ")
    assert "Traceback" not in done.err
    assert (done.out, done.code) == ("", code)


@pytest.mark.req("R-000-213", "R-000-254")
@pytest.mark.parametrize("command", COMMANDS)
def test_positional_json_is_refused_by_every_command(cli: CommandLine, command: str) -> None:
    done = cli(command, '{"content": "dark"}')
    assert done.code == 2
    assert done.err.startswith("[MemoryMesh Error] JSON is not accepted as an argument")
    if command == "store":
        assert 'plain words: memory-mesh store "..."' in done.err
    assert not cli.store.exists()


def test_a_fault_of_ours_asks_for_a_report_and_shows_its_trace_only_when_asked(
    cli: CommandLine, tmp_path: Path
) -> None:
    plain = _broken(cli, tmp_path, "ZeroDivisionError('ouch')")("stats")
    assert (plain.code, plain.out) == (70, "")
    assert plain.err.startswith("[MemoryMesh Error] ZeroDivisionError: ouch.")
    assert "Traceback" not in plain.err
    traced = _broken(cli, tmp_path, "ZeroDivisionError('ouch')", MEMORY_MESH_DEBUG="1")("stats")
    assert "Traceback" in traced.err


def _broken(cli: CommandLine, folder: Path, fault: str, **variables: str) -> CommandLine:
    """A command line in which asking for statistics raises the fault."""
    (folder / "sitecustomize.py").write_text(
        "import memory_mesh.sync as sync\n"
        f"def broken(*args): raise {fault}\n"
        "sync.MemoryMesh.stats = broken\n"
    )
    return CommandLine(cli.home, variables={"PYTHONPATH": str(folder), **variables})


def test_a_reader_that_leaves_early_is_no_error(cli: CommandLine) -> None:
    for number in range(3):
        cli.stored(f"memory {number} " + "long " * 15_000)
    command = [*cli.start, "list"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli.environment, cwd=cli.home
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_an_interrupt_ends_with_130_and_no_trace(cli: CommandLine, tmp_path: Path) -> None:
    done = _broken(cli, tmp_path, "KeyboardInterrupt")("stats")
    assert (done.code, done.out, done.err) == (130, "", "[MemoryMesh Error] interrupted\n")


def test_an_unknown_word_is_answered_with_the_nearest_command(cli: CommandLine) -> None:
    assert "did you mean search?" in cli("saerch", "x").err
    assert "did you mean" not in cli("zzz").err


# --- Around every command -------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli: CommandLine, command: str) -> None:
    done = cli(command, "--help")
    assert done.code == 0
    assert f"example:\n  memory-mesh {command_table.place(command)}" in done.out


@pytest.mark.parametrize("command", [*COMMANDS, "erase"])
def test_no_text_of_help_is_cut_off(cli: CommandLine, command: str) -> None:
    assert not re.search(r" (a|and|as|of|or|the|to)\n  -", cli(command, "--help").out)


def test_the_overview_fits_on_one_screen(cli: CommandLine) -> None:
    shown = [cli(*words) for words in (("--help",), ("help",))]
    assert shown[0] == shown[1]
    lines = shown[0].out.splitlines()
    assert len(lines) <= SCREEN[0]
    assert max(map(len, lines)) <= SCREEN[1]
    assert lines[-1] == "more: memory-mesh help --all"
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(command_table.FRONT)


@pytest.mark.parametrize("command", command_table.FRONT)
def test_the_help_of_a_command_of_every_day_fits(cli: CommandLine, command: str) -> None:
    lines = cli(command, "--help").out.splitlines()
    assert len(lines) <= LONGEST_HELP
    assert max(map(len, lines)) <= SCREEN[1] + len("memory-mesh help options")


def test_the_whole_overview_names_every_command_in_its_group(cli: CommandLine) -> None:
    done = cli("help", "--all")
    assert (done.code, done.err) == (0, "")
    listed = {line[2:].partition("  ")[0] for line in done.out.splitlines() if line[:2] == "  "}
    of_groups = {
        f"{noun} {name}" for noun in command_table.GROUPS for name in command_table.GROUPS[noun]
    }
    assert listed >= {
        *of_groups,
        *command_table.FRONT,
        "mirror",
        "project",
        "models",
        "config",
        "eval",
    }
    assert "list-skills (skill list)" in done.out


@pytest.mark.parametrize("noun", command_table.GROUPS)
def test_a_group_lists_its_commands_and_each_of_them_runs(cli: CommandLine, noun: str) -> None:
    told = cli(noun, "--help").out
    for name, what in command_table.GROUPS[noun].items():
        assert f"{noun} {name} " in told
        below = cli(noun, name, "--help")
        assert (below.code, below.err) == (0, "")
        about = command_table.COMMANDS[command_table.words_of(what)[0]]
        assert about[1:] in " ".join(below.out.split()), (noun, name)
    assert cli("help", noun).out == told


@pytest.mark.parametrize("name", EARLIER.split())
def test_every_name_of_earlier_versions_still_runs(cli: CommandLine, name: str) -> None:
    done = cli(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(
        f"usage: memory-mesh {command_table.place(command_table.command_of(name))}"
    )


def test_a_group_without_a_command_says_what_there_is(cli: CommandLine) -> None:
    assert "give one of: list, search, add" in cli("skill").err
    assert "did you mean skill list? See: memory-mesh skill --help" in cli("skill", "lisst").err
    assert "did you mean skill list?" in cli("list-skils").err


def test_the_options_of_every_command_are_listed_once(cli: CommandLine) -> None:
    told = cli("help", "options").out
    assert all(name in told for name in ("--store URL", "--user ID", "--json", "-v, --verbose"))
    assert "--namespace NAME" not in cli("help", "search").out


def test_the_script_and_the_module_are_the_same_program(cli: CommandLine) -> None:
    script = CommandLine(cli.home, start=(str(SCRIPT),))
    assert script("--version").out == cli("--version").out == f"memory-mesh {__version__}\n"
    script.stored(DARK)
    assert cli("search", "dark").out == script("search", "dark").out


def test_common_options_are_understood_before_and_after_the_command(cli: CommandLine) -> None:
    folder = str(cli.home / "elsewhere")
    cli("--db-dir", folder, "--namespace=work", "store", "--content", DARK)
    before = cli("--db-dir", folder, "--namespace", "work", "list")
    after = cli("list", "--namespace", "work", f"--db-dir={folder}")
    assert before.out == after.out
    assert DARK in before.out
    assert cli("namespaces", "--db-dir", folder).out == "work\n"
    assert not cli.store.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_every_command(cli: CommandLine, shell: str) -> None:
    done = cli("completion", shell)
    assert done.code == 0, done.err
    assert all(command_table.place(name).rpartition(" ")[2] in done.out for name in COMMANDS)
    assert all(noun in done.out for noun in command_table.GROUPS)
    assert "--all-projects" in done.out or "all-projects" in done.out


def test_the_bash_completion_is_valid_bash(cli: CommandLine) -> None:
    script = cli("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script.encode(), check=True)


# --- What the commands do -------------------------------------------------------------------------


def test_store_reads_standard_input(cli: CommandLine) -> None:
    done = cli("store", "--content", "-", stdin="from a pipe, ünd more\n".encode())
    assert done.code == 0
    assert json.loads(cli("list", "--json").out)["items"][0]["content"] == "from a pipe, ünd more"
    wrong = cli("store", "--content", "-", stdin=b"\xff\xfe")
    said = "standard input is not UTF-8 text. Give a text, or convert it: iconv -t UTF-8"
    assert (wrong.code, wrong.err) == (1, f"[MemoryMesh Error] {said}\n")


def test_store_keeps_every_detail(cli: CommandLine) -> None:
    id_ = cli.stored(
        DARK, "--speaker", "Ada", "--role", "user", "--order", "3", "--occurred-at",
        "2026-01-02T03:04:05Z", "--valid-from", "2026-01-01", "--valid-until", "2099-01-01",
        "--importance", "0.25", "--tag", "ui", "--tag", "taste", "--session", "s1",
        "--agent", "bot",
        "--meta", "color=blue", "--metadata", '{"color": "red", "depth": {"n": 1}}',
    )  # fmt: skip
    memory = json.loads(cli("get", "--id", id_, "--session", "s1", "--json").out)
    expected = {
        "speaker": "Ada", "role": "user", "order": 3, "occurred_at": "2026-01-02T03:04:05.000Z",
        "valid_from": "2026-01-01T00:00:00.000Z", "valid_until": "2099-01-01T00:00:00.000Z",
        "importance": 0.25, "tags": ["ui", "taste"], "session": "s1", "source": "bot",
    }  # fmt: skip
    assert {name: memory[name] for name in expected} == expected
    assert memory["metadata"]["color"] == "blue"
    assert memory["metadata"]["depth"] == {"n": 1}
    assert cli("get", "--id", id_).code == 1  # another session's


def test_the_same_key_gives_the_same_record_and_another_text_is_a_conflict(
    cli: CommandLine,
) -> None:
    first = cli("store", "--content", DARK, "--key", "k1")
    assert cli("store", "--content", DARK, "--key", "k1").out == first.out
    conflict = cli("store", "--content", "something else", "--key", "k1")
    assert conflict.code == 1
    assert "idempotency key" in conflict.err


def test_update_changes_what_is_given_and_keeps_the_rest(cli: CommandLine) -> None:
    id_ = cli.stored(DARK, "--type", "preference", "--meta", "a=1", "--tag", "ui")
    assert cli("update", "--id", id_, "--meta", "b=2").out == f"[MemoryMesh] Updated record {id_}\n"
    memory = json.loads(cli("get", "--id", id_, "--json").out)
    assert memory["metadata"] == {"type": "preference", "tags": ["ui"], "a": "1", "b": "2"}
    assert cli("update", "--id", id_).code == 2


def test_time_travel_reads_the_past(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    stored = json.loads(cli("get", "--id", id_, "--json").out)["created_at"]
    cli("update", "--id", id_, "--content", "The user prefers light themes")
    soon = stored.replace("Z", "999Z")
    assert DARK in cli("get", "--id", id_, "--as-of", soon).out
    assert DARK in cli("search", "dark themes", "--as-of", soon).out
    assert DARK not in cli("search", "dark themes").out


def test_deleted_memories_are_listed_only_when_asked_for(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    cli("delete", "--id", id_)
    assert cli("list").out == ""
    assert id_ in cli("list", "--include", "deleted").out
    assert "status:     deleted" in cli("get", "--id", id_, "--deleted").out


def test_a_refusal_says_on_a_terminal_where_its_reason_is(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    assert cli("erase", id_, "--yes").code == 0
    shown = cli.on_terminal("store", "--content", DARK)
    assert shown.code == 1
    block = re.search(r"refusal is on record, see: memory-mesh explain (\w+)", shown.out)
    assert block is not None, shown.out
    assert "refused" in cli("explain", block[1]).out.lower()


def test_list_is_separated_by_tabs_and_goes_on_at_its_cursor(cli: CommandLine) -> None:
    ids = [cli.stored(f"memory\tnumber {number}\nand a second line") for number in range(5)]
    lines = cli("list").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ids[::-1]
    assert {len(line.split("\t")) for line in lines} == {4}
    first = json.loads(cli("list", "--limit", "2", "--json").out)
    rest = json.loads(cli("list", "--cursor", first["cursor"], "--json").out)
    assert [memory["id"] for memory in first["items"] + rest["items"]] == ids[::-1]
    assert rest["cursor"] is None
    told = f"There are more: repeat the command with --cursor {first['cursor']}"
    assert told in cli.on_terminal("list", "--limit", "2").out
    assert "There are more" not in cli.on_terminal("list").out


def test_on_a_terminal_a_list_is_aligned_and_colour_can_be_refused(cli: CommandLine) -> None:
    id_ = cli.stored(DARK + " and a great deal more" * 20)
    shown = cli.on_terminal("list").out
    assert "\x1b[1m" in shown
    plain = CommandLine(cli.home, variables={"NO_COLOR": "1"}).on_terminal("list").out
    assert "\x1b" not in plain
    first, where = plain.splitlines()
    assert first.startswith(f"{id_}  ")
    assert len(first) <= 80
    assert where == "    every project"


def test_explain_tells_how_a_word_was_read(cli: CommandLine) -> None:
    cli.stored("TypeScript is strict")
    explained = cli("search", "typscript", "--keyword", "--explain").out
    assert "\nRead as: typscript -> typescript\n" in explained
    assert "Read as" not in cli("search", "TypeScript", "--keyword", "--explain").out


def test_explain_adds_the_parts_below_the_text_of_the_rfc(cli: CommandLine) -> None:
    cli.stored(DARK)
    plain = cli("search", "dark").out
    explained = cli("search", "dark", "--explain").out
    assert explained.startswith(plain)
    assert "\n[EXPLANATION]\n" in explained
    assert "\n--- MEMORY 1: score 0." in explained


def test_verify_says_what_it_checked_and_fails_on_a_finding(cli: CommandLine) -> None:
    cli.stored(DARK)
    mark = cli.home / "mark.json"
    sound = cli("verify", "--checkpoint", str(mark))
    assert sound.code == 0
    assert sound.out.startswith("Namespace default: 0 findings\n")
    assert any(line.split()[:2] == ["checked", "1"] for line in sound.out.splitlines())
    assert cli("verify", "--against", str(mark)).code == 0
    forged = json.loads(mark.read_text()) | {"hash": "00" * 32}
    mark.write_text(json.dumps(forged))
    wrong = cli("verify", "--against", str(mark), "--json")
    assert wrong.code == 1
    assert json.loads(wrong.out)["ok"] is False
    assert json.loads(wrong.err)["error"]["message"] == "1 finding in the namespace default"
    assert "\n  wrong " in cli("verify", "--against", str(mark)).out


def test_verify_that_cannot_write_its_checkpoint_says_which_file(cli: CommandLine) -> None:
    cli.stored(DARK)
    done = cli("verify", "--checkpoint", "no/such/folder/mark.json")
    assert (done.code, "no/such/folder/mark.json" in done.err) == (1, True)
    assert "Traceback" not in done.err


def test_config_says_where_each_setting_comes_from_and_keeps_secrets(cli: CommandLine) -> None:
    file = cli.home / ".config/memory-mesh/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('namespace = "work"\nllm_api_key = "sk-123"\n')
    stated = CommandLine(cli.home, variables={"MEMORY_MESH_AGENT": "bot"})
    settings = json.loads(stated("config", "--json", "--project", "p").out)
    told = {name: (each["value"], each["origin"]) for name, each in settings.items()}
    assert told["namespace"] == ("work", f"file {file}")
    assert told["agent_id"] == ("bot", "environment MEMORY_MESH_AGENT")
    assert told["project"] == ("p", "option")
    assert settings["llm_api_key"]["value"] == "***"
    assert "sk-123" not in stated("config").out


def test_json_is_plain_ascii(cli: CommandLine) -> None:
    cli.stored("naïve 日本 \u202e")
    for words in (("list",), ("search", "naïve")):
        out = cli(*words, "--json").out
        assert out.isascii()
        assert out.replace("\n", "").isprintable()


def test_a_full_output_disk_is_an_error(cli: CommandLine) -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("no /dev/full here")
    cli.stored(DARK)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*cli.start, "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=cli.environment,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"[MemoryMesh Error] ")


# --- Times as people type them --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--since", "yesterday"), {"new"}),
        (("--since", "7d"), {"new"}),
        (("--since", "3w"), {"new", "old"}),
        (("--since", "2 days ago"), {"new"}),
        (("--until", "30m"), {"old", "march"}),
        (("--since", "last month", "--until", "2 weeks"), {"old"}),
        (("--until", "monday"), {"old", "march"}),
        (("--until", "7d"), {"old", "march"}),
        (("--until", "yesterday"), {"old", "march"}),
        (("--until", "today"), {"new", "old", "march"}),
        (("--since", "2026-03", "--until", "2026-03"), {"march"}),
        (("--since", "2026-03-05", "--until", "2026-03-05"), {"march"}),
        (("--since", "2026-03-06", "--until", "2026-03"), set()),
        (("--since", "2026-03-05T12:00:00Z", "--until", "2026-03-05T12:00:00+01:00"), set()),
        (("--until", "2026"), {"march", "old", "new"}),
    ],
)
def test_list_search_and_context_read_the_times_that_people_type(
    cli: CommandLine, words: tuple[str, ...], found: set[str]
) -> None:
    ago = (datetime.now(UTC) - timedelta(days=14)).isoformat()
    cli.stored("notes about tea: march", "--occurred-at", "2026-03-05T12:00:00Z")
    cli.stored("notes about tea: old", "--occurred-at", ago)
    cli.stored("notes about tea: new")
    if words[-1] == "2026" and datetime.now(UTC).year != 2026:
        found = {"march"}
    asked = (("list", *words), ("search", "tea", "--all", *words), ("context", "tea", *words))
    for words_of in asked:
        shown = cli(*words_of).out
        assert {name for name in ("march", "old", "new") if f"tea: {name}" in shown} == found


@pytest.mark.parametrize("condition", ["tags = 'a'", '{"tags": "a"}'])
def test_a_time_narrows_a_filter(cli: CommandLine, condition: str) -> None:
    cli.stored("tea one", "--tag", "a")
    cli.stored("tea two", "--tag", "b")
    cli.stored("tea three", "--tag", "a", "--occurred-at", "2026-03-05")
    done = cli("list", "--filter", condition, "--since", "yesterday")
    assert (done.code, [line.split("\t")[3] for line in done.out.splitlines()]) == (0, ["tea one"])


@pytest.mark.parametrize("word", ["soon", "2026-13", "2026-02-30", "x7d", "99999999w"])
def test_a_word_that_is_no_time_is_refused_by_the_name_of_its_option(
    cli: CommandLine, word: str
) -> None:
    done = cli("list", "--until", word)
    assert (done.code, "--until must" in done.err) == (1, True)


# --- Words that people type -----------------------------------------------------------------------


def test_edit_opens_the_editor_and_says_what_changed(cli: CommandLine) -> None:
    id_ = cli.stored("The door is red\nand heavy")
    editor = CommandLine(cli.home, variables={"EDITOR": "sed -i s/red/blue/"})
    done = editor("edit", id_)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"[MemoryMesh] Updated record {id_}\n  -The door is red\n  +The door is blue\n"
    )
    assert json.loads(cli("get", id_, "--json").out)["content"] == "The door is blue\nand heavy"
    again = editor("edit", id_)
    assert (again.code, f"the text of {id_} is as it was" in again.err) == (1, True)


@pytest.mark.parametrize(
    ("editor", "said"),
    [("false", "false ended with the exit code 1"), ("no-such-editor", "say which editor")],
)
def test_an_edit_that_fails_changes_nothing(cli: CommandLine, editor: str, said: str) -> None:
    id_ = cli.stored(DARK)
    done = CommandLine(cli.home, variables={"EDITOR": editor})("edit", id_)
    assert (done.code, said in done.err) == (1, True)
    assert len(json.loads(cli("history", id_, "--json").out)["items"]) == 1


def test_edit_with_a_text_changes_it_without_an_editor(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    done = CommandLine(cli.home, variables={"EDITOR": "false"})("edit", id_, "Light themes")
    assert (done.code, done.out) == (0, f"[MemoryMesh] Updated record {id_}\n")


def test_info_is_stats(cli: CommandLine) -> None:
    cli.stored(DARK)
    assert cli("info").out == cli("stats").out


@pytest.mark.parametrize("name", ["wipe", "clear", "reset"])
def test_a_wipe_without_a_scope_says_what_there_is_and_changes_nothing(
    cli: CommandLine, name: str
) -> None:
    cli.stored("one", "--project", "shop")
    cli.stored("two", "--global")
    done = cli(name, "--yes")
    assert done.code == 2
    assert "nothing was deleted: say whose memories are meant" in done.err
    assert "1 of shop" in done.err
    assert "2 of the namespace default" in done.err
    assert len(cli("list", "--all-projects").out.splitlines()) == 2


def test_a_wipe_backs_up_and_the_backup_brings_all_of_it_back(cli: CommandLine) -> None:
    cli.stored("one", "--project", "shop", "--type", "preference", "--session", "s1")
    cli.stored("two", "--project", "shop")
    kept = cli.stored("three", "--project", "other")
    asked = cli("wipe", "--project", "shop")
    assert (asked.code, "add --yes for 2 memories of the project shop: " in asked.err) == (1, True)
    assert "two" in cli("list", "--project", "shop").out
    done = cli("wipe", "--project", "shop", "--yes")
    assert (done.code, "Deleted 2 memories of the project shop" in done.out) == (0, True)
    assert [line.split("\t")[0] for line in cli("list", "--all-projects").out.splitlines()] == [
        kept
    ]
    back = done.out.rpartition("To go back to it: ")[2].strip()
    assert cli.shell(back).code == 0
    assert len(cli("list", "--all-projects").out.splitlines()) == 2  # and the one of the session
    assert "one" in cli("list", "--project", "shop", "--session", "s1").out


def test_a_wipe_of_a_user_leaves_the_others_alone(cli: CommandLine) -> None:
    cli.stored("one", "--user", "ann")
    cli.stored("two", "--user", "ben")
    assert "Deleted 1 memory of the user ann" in cli("wipe", "--user", "ann", "--yes").out
    assert (cli("list", "--user", "ann").out, "two" in cli("list", "--user", "ben").out) == (
        "",
        True,
    )
    assert "no memories of the user ann" in cli("wipe", "--user", "ann", "--all", "--yes").out


def test_an_agent_wipes_nothing(cli: CommandLine) -> None:
    cli.stored(DARK)
    agent = CommandLine(cli.home, variables={"CLAUDECODE": "1"})
    done = agent("wipe", "--all", "--yes")
    assert (done.code, "an agent may not run wipe" in done.err) == (1, True)
    assert DARK in cli("list").out


# --- Where it belongs and where it came from ------------------------------------------------------


def test_a_memory_says_whose_it_is_and_which_file_it_came_from(cli: CommandLine) -> None:
    for folder in ("a", "b"):
        (cli.home / "notes" / folder).mkdir(parents=True)
        (cli.home / "notes" / folder / "readme.md").write_text(f"How to open door {folder}")
    cli("import", "folder", "notes", "--recursive", "--project", "shop")
    every = cli.stored("Doors are red", "--global")
    for words in (("list",), ("search", "door")):
        shown = cli.on_terminal(*words, "--project", "shop").out
        assert all(f"shop · {name}/readme.md" in shown for name in "ab")
        assert "every project" in shown
        items = json.loads(cli(*words, "--project", "shop", "--json").out)["items"]
        assert {(item["project"], item.get("source_ref")) for item in items} == {
            ("shop", "a/readme.md"), ("shop", "b/readme.md"), (None, None),
        }  # fmt: skip
    assert re.search("^project: +every project$", cli("get", every).out, re.MULTILINE)


def test_a_memory_of_a_user_says_so(cli: CommandLine) -> None:
    id_ = cli.stored("Ann likes tea", "--user", "ann")
    for words in (("list",), ("search", "tea")):
        assert "of ann" in cli.on_terminal(*words, "--user", "ann").out
        assert json.loads(cli(*words, "--user", "ann", "--json").out)["items"][0]["user"] == "ann"
    assert re.search("^user: +ann$", cli("get", id_, "--user", "ann").out, re.MULTILINE)
